"""A replica with real extenders that hang, go wrong, lie and die."""

from __future__ import annotations

import json

import pytest

from lockd.ports import Delete, Txn
from replica.api.keys import object_key
from replica.api.kinds import POD
from replica.api.manifests import parse_manifests
from tests.harness.extender import ExtenderProcess
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

GPU = "example.com/gpu"
ROOM = {"cpu": "32", "memory": "128Gi", "pods": "110", GPU: "8"}
NODES = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}, "status": {"allocatable": ROOM}}
        for number in range(3)
    ],
}
WRONG = ("hangs", "gibberish", "lies", "error", "fails")


def configured(folder, lenient, strict):
    """One that looks at all pods and may be ignored, and one that sees to GPUs, binds, and may not."""
    common = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 1, "httpTimeout": "400ms"}
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "podMaxBackoffSeconds": 1,
        "extenders": [
            {**common, "urlPrefix": lenient.url, "ignorable": True, "nodeCacheCapable": True},
            {
                **common,
                "urlPrefix": f"{strict.url}/gpu",
                "bindVerb": "bind",
                "managedResources": [{"name": GPU, "ignoredByScheduler": True}],
            },
        ],
    }
    path = folder / "scheduler.yaml"
    path.write_text(json.dumps(document))
    return f"--config={path}"


def create(crew, name, **requests):
    container = {"name": "main", "image": "app", "resources": {"requests": requests, "limits": requests}}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
    crew.create(parse_manifests(json.dumps(document).encode(), "test", namespace="default"))


def node_of(crew, name):
    return crew.placement()[f"default/{name}"]


def test_cycles_go_on_as_ignorable_says_and_nothing_is_bound_without_the_guard(crew, tmp_path):
    with ExtenderProcess() as lenient, ExtenderProcess() as strict:
        replica = crew.start("a", configured(tmp_path, lenient, strict))
        crew.until_leads(replica)
        crew.create(parse_manifests(json.dumps(NODES).encode(), "test"))
        lenient.behave("honest", only=["node-1"])
        create(crew, "steered", cpu="1")
        crew.until_bound(1)
        assert node_of(crew, "steered") == "node-1"
        for number, behaviour in enumerate(WRONG):
            lenient.behave(behaviour)
            create(crew, f"plain-{behaviour}", cpu="1")
            crew.until_bound(2 + number)
        lenient.kill()
        create(crew, "plain-dead", cpu="1")
        crew.until_bound(2 + len(WRONG))
        pods = 2 + len(WRONG)

        for behaviour in WRONG:
            strict.behave(behaviour)
            create(crew, f"gpu-{behaviour}", **{GPU: "1"})
            crew.until_refused(f"gpu-{behaviour}")
        create(crew, "plain", cpu="1")
        crew.until_bound(pods + 1)
        assert crew.bound() == pods + 1, "no pod of one that may not be ignored"
        strict.behave("honest", only=["node-2"])
        crew.until_bound(pods + 1 + len(WRONG), within=60.0)
        assert {node_of(crew, f"gpu-{behaviour}") for behaviour in WRONG} == {"node-2"}
        token = str(max(crew.ledger().terms.by_token))
        asked = [args["podName"] for verb, args, headers in strict.seen() if verb == "bind"]
        assert {f"gpu-{behaviour}" for behaviour in WRONG} <= set(asked)
        assert {headers["Lockd-Fencing-Token"] for _, _, headers in strict.seen()} == {token}
        record = eventually(crew.record, within=10.0)
        assert not record.fenced, "what an extender does that binds, etcd can't fence"
        strict.kill()
        create(crew, "gpu-dead", **{GPU: "1"})
        crew.until_refused("gpu-dead")
        # An auditor knows no extender: to it the pod waits without need.
        gone = Delete(object_key(crew.prefix, POD, "gpu-dead", "default"))
        crew.gateway.txn(Txn((), (gone,)), timeout=5.0)
        crew.assert_sound(bound=pods + 1 + len(WRONG))
