"""What a plugin refused is tried again when that may help, and only then: plugin, events, hints and queue together."""

from __future__ import annotations

import pytest

from tests.harness import term
from tests.harness.neighbours import affinity, constraint, near
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


# --- pods on other nodes

A, B = {"app": "a"}, {"app": "b"}
ZONES = {"topologySpreadConstraints": [constraint(minDomains=2)]}
APART = {"affinity": {"podAntiAffinity": affinity(near())}}
TOGETHER = {"affinity": {"podAffinity": affinity(near(labelSelector={"matchLabels": B}))}}


def on_a(name, labels, **spec):
    return lambda world: world.etcd.put(term.pod_key(name), pod_value(name, uid=name, labels=labels, node="a", **spec))


def gone(name):
    return lambda world: world.etcd.delete(term.pod_key(name))


def labelled(labels, **spec):
    """The waiting pod has other labels now."""
    return lambda world: world.etcd.put(term.pod_key("p"), pod_value("p", uid="p", labels=labels, **spec))


def zoned(name, zone=None, **labels):
    return lambda world: world.add_node(name, labels={**({"zone": zone} if zone else {}), **labels})


SPREAD = "didn't match pod topology spread constraints"
CASES = [
    # What it has of its own, who is there, why it is refused, what doesn't help, what does.
    (ZONES, [on_a("one", A)], SPREAD, [gone("other"), on_a("one", {**A, "v": "2"}), zoned("c")], gone("one")),
    (ZONES, [on_a("one", A)], SPREAD, [on_a("two", B), zoned("a", "1", x="y")], on_a("one", B)),
    (ZONES, [on_a("one", A)], SPREAD, [], zoned("b", "2")),
    (ZONES, [on_a("one", A)], SPREAD, [], labelled(B, **ZONES)),
    (APART, [on_a("one", A)], "anti-affinity rules", [gone("other"), on_a("two", B)], gone("one")),
    (APART, [on_a("one", A)], "anti-affinity rules", [on_a("one", {**A, "v": "2"})], on_a("one", B)),
    (APART, [on_a("one", A)], "anti-affinity rules", [], zoned("b", "2")),
    ({}, [on_a("one", B, **APART)], "existing pods anti-affinity rules", [gone("other")], gone("one")),
    ({}, [on_a("one", B, **APART)], "existing pods anti-affinity rules", [], labelled(B)),
    (TOGETHER, [], "didn't match pod affinity rules", [gone("other"), on_a("two", A), zoned("c")], on_a("one", B)),
    (TOGETHER, [on_a("one", A)], "didn't match pod affinity rules", [on_a("one", {**A, "v": "2"})], on_a("one", B)),
]


@pytest.mark.parametrize(("spec", "there", "reason", "unhelpful", "helpful"), CASES)
def test_neighbours_that_change(spec, there, reason, unhelpful, helpful):
    with World() as world:
        zoned("a", "1")(world)
        for put in (*there, on_a("other", {"app": "c"})):
            put(world)
        world.lead()
        world.etcd.put(term.pod_key("p"), pod_value("p", uid="p", labels=A, **spec))
        refused(world, "p", reason)
        moved = watched(world.queue)
        for number, change in enumerate(unhelpful, 1):
            change(world)
            eventually(lambda told=number: len(moved) >= told, within=WITHIN)
        assert not any(moved)
        assert world.queue.pending()["unschedulable"] == 1
        helpful(world)
        world.wait_bound("p")


def watched(queue):
    """How many pods each event has moved, as it goes."""
    move_all, moved = queue.move_all, []

    def told(*args, **fields):
        found = move_all(*args, **fields)
        moved.append(found)
        return found

    queue.move_all = told
    return moved
