"""Preemption against all that could be done: every set of pods on every node of small drawn clusters."""

from __future__ import annotations

import random

import pytest

from tests.harness.objects import node, pod
from tests.harness.preempting import Cluster, budget, labelled, running

PRIORITIES = (-7, 0, 3, 3, 9, 2_000_000_000)
APPS = ("web", "db", "batch")


def requests(draw):
    found = {"cpu": draw.choice(("100m", "1", "1", "2", "3"))}
    if draw.random() < 0.3:
        found["memory"] = draw.choice(("1Gi", "3Gi"))
    if draw.random() < 0.2:
        found["example.com/gpu"] = draw.choice((1, 2))
    return found


def drawn_pod(draw, make, name, *args, **spec):
    if draw.random() < 0.2:
        port = {"containerPort": 80, "hostPort": draw.choice((80, 81))}
        wanted = requests(draw)
        spec["containers"] = [{"name": "c", "resources": {"requests": wanted}, "ports": [port]}]
        return make(name, *args, **spec)
    return make(name, *args, requests=requests(draw), **spec)


def drawn_node(draw, name):
    room = {"cpu": draw.choice(("2", "4", "5")), "memory": "6Gi", "pods": draw.choice((3, 10)), "example.com/gpu": 2}
    taints = ({"key": "k", "value": "v", "effect": "NoSchedule"},) if draw.random() < 0.1 else ()
    return node(name, allocatable=room, taints=taints, unschedulable=draw.random() < 0.05)


def drawn(seed):
    """A cluster, and the generator to go on with."""
    draw = random.Random(seed)  # noqa: S311  # drawn tests, no secret
    cluster = Cluster(slow=draw.random() < 0.3, seed=seed)
    for number in range(draw.randrange(1, 5)):
        cluster.add_node(drawn_node(draw, f"n{number}"))
    for _ in range(draw.choice((0, 0, 1, 2))):
        kind = draw.choice(("min_available", "max_unavailable"))
        limit = draw.choice((0, 1, 2, "0%", "34%", "50%", "100%"))
        cluster.guard(budget(f"b{len(cluster.budgets)}", {"app": draw.choice(APPS)}, **{kind: limit}))
    return cluster, draw


def add_pod(cluster, draw, number):
    name = draw.choice(sorted(cluster.nodes))
    if len(cluster.on(name)) < 6:
        made = drawn_pod(draw, running, f"p{number}", name, priority=draw.choice(PRIORITIES), started=draw.randrange(4))
        cluster.add(labelled(made, {"app": draw.choice(APPS)}))


def check(cluster, made):
    found = cluster.preempt(made)
    if found == "":
        return found
    nodes, victims = cluster.expected(made)
    if isinstance(found, str):
        assert not nodes, f"{found}, though {victims}"
        return found
    assert found[0] in nodes
    assert found[1] == victims[found[0]]
    return found


def run(seed):
    cluster, draw = drawn(seed)
    for number in range(draw.randrange(3, 14)):
        add_pod(cluster, draw, number)
    outcomes = []
    for step in range(6):
        made = drawn_pod(draw, pod, f"new{step}", priority=draw.choice(PRIORITIES), uid=f"new{step}")
        found = check(cluster, made)
        outcomes.append("fits" if found == "" else "none" if isinstance(found, str) else "room")
        match draw.randrange(4):
            case 0 if cluster.pods:
                cluster.remove(draw.choice(sorted(cluster.pods)))
            case 1:
                add_pod(cluster, draw, 100 + step)
            case 2 if isinstance(found, tuple):
                cluster.promise(made, found[0])
    return outcomes


@pytest.mark.parametrize("first", range(0, 200, 40))
def test_the_least_harm_is_done(first):
    outcomes = [found for seed in range(first, first + 40) for found in run(seed)]
    assert {"fits", "none", "room"} <= set(outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 6000, 250))
def test_the_least_harm_is_done_in_thousands_of_clusters(first):
    for seed in range(first, first + 250):
        run(seed)
