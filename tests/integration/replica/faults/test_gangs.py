"""Two gangs that each need more than half of the cluster, and leaders that are killed in between."""

from __future__ import annotations

import json

import pytest

from replica.api.manifests import parse_manifests
from tests.harness.local import nodes
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

SIZE = 8


def gang(name):
    """A PodGroup and its pods, each of which fills a quarter of a node of four cores."""
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": SIZE},
    }
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1"}}}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{number}", "labels": {"scheduling.x-k8s.io/pod-group": name}},
            "spec": {"containers": [container]},
        }
        for number in range(SIZE)
    ]
    return group, pods


def create(crew, *documents):
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)}).encode()
    crew.create(parse_manifests(items, "test", namespace="default"))


def bound(crew, name):
    return sum(bool(node) for path, node in crew.placement().items() if path.startswith(f"default/{name}-"))


def leader(replicas):
    """The replica that leads, once there is one."""
    return eventually(lambda: next((each for each in replicas if each.alive and each.leads), None), within=30.0)


def killed(replicas):
    """Kill the leader, and tell who it was."""
    found = leader(replicas)
    found.end()
    return found


def test_one_runs_whole_and_the_other_waits_whole_though_leaders_are_killed(crew):
    replicas = [crew.start(name) for name in "abc"]
    crew.until_ready(*replicas)
    crew.create(nodes(3, cpu="4"))  # 12 cores: one gang fits, both don't
    (first, first_pods), (second, second_pods) = gang("one"), gang("two")
    create(crew, first, second)
    # They come in turns, so that neither is there before the other.
    for pair in zip(first_pods, second_pods, strict=True):
        create(crew, *pair)
    replicas.remove(killed(replicas))  # wherever it is with them
    eventually(lambda: SIZE in (bound(crew, "one"), bound(crew, "two")), within=30.0, what="one of them runs")
    runs, waits = ("one", "two") if bound(crew, "one") else ("two", "one")
    crew.until_refused(f"{waits}-0")
    replicas.remove(killed(replicas))
    leader(replicas)
    assert (bound(crew, runs), bound(crew, waits)) == (SIZE, 0)
    crew.create(nodes(3, cpu="4", first=3))
    eventually(lambda: bound(crew, waits) == SIZE, within=30.0, what="the other runs, too")
    crew.assert_sound(bound=2 * SIZE)
