"""What a plugin refused is tried again when that may help, and only then: plugin, events, hints and queue together."""

from __future__ import annotations

import pytest

from tests.harness import term
from tests.harness.objects import pod_value
from tests.harness.wait import eventually
from tests.harness.world import WITHIN, World

PORT = {"containers": [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 80}]}]}
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


def refused(world, name, reason):
    eventually(lambda: (found := world.condition(name)) is not None and reason in found.message, within=WITHIN)
    eventually(lambda: world.queue.pending()["unschedulable"] == 1, within=WITHIN)


@pytest.mark.parametrize(
    ("spec", "node", "reason", "unhelpful", "helpful"),
    [
        (
            {},
            {"taints": (TAINT,)},
            "had untolerated taint {k: v}",
            {"taints": (TAINT,), "labels": {"a": "b"}},
            {"taints": ()},
        ),
        (
            {"nodeSelector": {"zone": "x"}},
            {},
            "didn't match Pod's node affinity/selector",
            {"labels": {"zone": "y"}},
            {"labels": {"zone": "x"}},
        ),
        (
            {"requests": {"cpu": "6"}},
            {},
            "Insufficient cpu",
            {"allocatable": {"cpu": "5", "memory": "8Gi", "pods": 110}},
            {"allocatable": {"cpu": "6", "memory": "8Gi", "pods": 110}},
        ),
        ({}, {"unschedulable": True}, "were unschedulable", {"unschedulable": True, "labels": {"a": "b"}}, {}),
    ],
)
def test_a_node_that_changes(spec, node, reason, unhelpful, helpful):
    with World() as world:
        world.add_node("a", **node)
        world.add_pods("p", **spec)
        world.lead()
        refused(world, "p", reason)
        attempts = world.queue.get("default/p").attempts
        world.add_node("a", **unhelpful)
        eventually(lambda: world.informers.barrier.applied >= world.etcd.revision, within=WITHIN)
        assert world.queue.get("default/p").attempts == attempts
        world.add_node("a", **helpful)
        world.wait_bound("p")


def test_a_pod_that_gives_its_port_back():
    with World() as world:
        world.add_node("a")
        world.etcd.put(term.pod_key("first"), pod_value("first", node="a", **PORT))
        world.etcd.put(term.pod_key("idle"), pod_value("idle", node="a"))
        world.lead()
        world.add_pods("p", **PORT)
        refused(world, "p", "didn't have free ports")
        world.etcd.delete(term.pod_key("idle"))
        world.etcd.delete(term.pod_key("first"))
        world.wait_bound("p")
