"""Pods that wait for something when their leader is killed end as they would have without that."""

from __future__ import annotations

import json

import msgspec
import pytest

from lockd.ports import Compare, Field, Put, Txn
from replica.api.codec import encode, parse_envelope, status_of
from replica.api.keys import object_key
from replica.api.kinds import POD
from tests.harness.crew import pod
from tests.harness.local import nodes
from tests.harness.replicas import FAST
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd


def queues(replica):
    answer = replica.get("/statusz")
    return json.loads(answer.body)["pendingPods"] if answer.status == 200 else {}


def held(replica):
    """The pods that wait, or have waited, in its Permit."""
    return {line["pod"] for line in replica.said("held")}


def open_gate(crew, name):
    """What a user does who takes a pod's gates off."""
    key = object_key(crew.prefix, POD, name, "default")
    (kv,) = crew.gateway.range(key, timeout=5.0).kvs
    document = msgspec.json.decode(parse_envelope(key, kv.value).manifest)
    del document["spec"]["schedulingGates"]
    value = encode(msgspec.json.encode(document))
    reply = crew.gateway.txn(Txn((Compare(key, Field.MOD, kv.mod_revision),), (Put(key, value),)), timeout=5.0)
    assert reply.succeeded


def ends(crew):
    """Per pod: has it a node, else why it has none."""
    found = {}
    for path, node in crew.placement().items():
        name = path.rpartition("/")[2]
        (kv,) = crew.gateway.range(object_key(crew.prefix, POD, name, "default"), timeout=5.0).kvs
        told = status_of(kv.value).scheduled
        found[name] = "bound" if node else (told.reason, told.message) if told is not None else "untold"
    return found


@pytest.mark.parametrize(
    "killed", [pytest.param(False, marks=pytest.mark.slow, id="undisturbed"), pytest.param(True, id="killed")]
)
def test_backoff_gate_and_permit_end_the_same_whether_or_not_the_leader_is_killed(crew, killed):
    leader = crew.start("a", launcher="patience")
    crew.until_leads(leader)
    successor = crew.start("b", launcher="patience")
    crew.until_ready(successor)
    crew.create(nodes(1))
    crew.create(pod("gated", schedulingGates=[{"name": "example.com/wait"}]))
    for name in ("stumbling", "held", "vain"):
        crew.create(pod(name))
    eventually(lambda: held(leader) == {"held", "vain"}, within=30.0, what="two pods wait in Permit")
    eventually(
        lambda: (found := queues(leader)).get("backoff") and found["gated"] == 1 and found["active"] == 0,
        within=30.0,
        what="a pod is in backoff and one is gated",
    )
    if killed:
        leader.end()
        leader = successor
        crew.until_leads(leader, within=3 * FAST.lease)
        eventually(lambda: "held" in held(leader), within=30.0, what="the successor holds the pod that was held")
    assert crew.bound() == 0
    crew.until_refused("stumbling")
    crew.until_refused("vain")
    open_gate(crew, "gated")
    crew.until_bound(1)
    crew.create(pod("key"))
    crew.until_bound(4, within=60.0)
    assert ends(crew) == {
        "gated": "bound",
        "stumbling": "bound",
        "held": "bound",
        "key": "bound",
        "vain": ("Unschedulable", "timed out waiting on permit plugin Patience"),
    }
    report = crew.report()
    # The auditor knows nothing of the launcher's plugin: to it, a pod that only that one keeps waiting has been missed.
    assert [(found["check"], found["key"]) for found in report["violations"]] == [
        ("needless-wait", f"{crew.prefix}/pods/default/vain")
    ]
    assert (report["pods"]["bound"], report["pods"]["pending"], report["pods"]["double_bound"]) == (4, 1, 0)
