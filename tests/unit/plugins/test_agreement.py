"""Each vector plugin against the plainest reading of its rule, one node at a time, on drawn clusters."""

from __future__ import annotations

import random

import pytest

from replica.framework.cycle_state import CycleState
from replica.plugins.node_name import NodeName
from replica.plugins.node_resources_fit import LEAST_ALLOCATED, MOST_ALLOCATED, FitArgs, NodeResourcesFit
from replica.plugins.node_unschedulable import NodeUnschedulable
from tests.harness.framework import refusals, table_of
from tests.harness.objects import node, pod

CLUSTERS = 400
CORDON = "node.kubernetes.io/unschedulable"

AMOUNTS = {
    "cpu": (0, 1, 99, 100, 250, 1000, 4000),
    "memory": (0, 1, 1 << 20, 200 << 20, 1 << 30, 1 << 62),
    "ephemeral-storage": (0, 1, 1 << 30),
    "example.com/gpu": (0, 1, 2, 8),
    "example.com/fpga": (0, 1),
}
TOLERATIONS = ((), ({"operator": "Exists"},), ({"key": CORDON, "effect": "NoSchedule"},), ({"key": "x"},))


def quantity(resource, amount):
    return f"{amount}m" if resource == "cpu" else str(amount)


def drawn_requests(draw):
    return {
        resource: quantity(resource, draw.choice(amounts))
        for resource, amounts in AMOUNTS.items()
        if draw.random() < 0.4
    }


def drawn_cluster(draw):
    names = [f"n{number}" for number in range(draw.randrange(1, 9))]
    nodes = []
    for name in names:
        allocatable = {
            resource: quantity(resource, draw.choice(amounts) * draw.choice((1, 1, 3)))
            for resource, amounts in AMOUNTS.items()
            if draw.random() < 0.7
        }
        allocatable["pods"] = draw.choice((0, 1, 2, 5))
        nodes.append(node(name, allocatable=allocatable, unschedulable=draw.random() < 0.3))
    placed = [(draw.choice(names), pod(requests=drawn_requests(draw))) for _ in range(draw.randrange(12))]
    return nodes, placed


@pytest.fixture(scope="module")
def clusters():
    draw = random.Random(7)  # noqa: S311  # drawn tests, no secret
    made = []
    for _ in range(CLUSTERS):
        nodes, placed = drawn_cluster(draw)
        table = table_of(nodes, placed)
        if draw.random() < 0.3 and len(nodes) > 1:
            gone = nodes.pop(draw.randrange(len(nodes)))
            table.remove_node(gone.name)
            placed = [(where, each) for where, each in placed if where != gone.name]
        asks = [
            pod(
                requests=drawn_requests(draw),
                tolerations=list(draw.choice(TOLERATIONS)),
                node=draw.choice(("", "n0", "n1")),
            )
            for _ in range(6)
        ]
        made.append((table.snapshot(), nodes, placed, asks))
    return made


def cases(clusters):
    for view, nodes, placed, asks in clusters:
        for ask in asks:
            yield view, nodes, placed, ask


def on(name, placed):
    return [each for where, each in placed if where == name]


def used(resource, pods):
    return sum(dict(each.spec.requests).get(resource, 0) for each in pods)


def plain_fit(ask, has, there):
    reasons = ["Too many pods"] if len(there) + 1 > has.get("pods", 0) else []
    for resource, amount in sorted(
        ask.spec.requests, key=lambda pair: list(AMOUNTS).index(pair[0]) if pair[0] in AMOUNTS else 9
    ):
        if resource == "pods" or amount == 0:
            continue
        if amount > min(has.get(resource, 0), 1 << 56) - used(resource, there):
            reasons.append(f"Insufficient {resource}")
    return reasons


def test_fit_refuses_what_a_plain_reading_refuses(clusters):
    plugin = NodeResourcesFit(FitArgs())
    seen = 0
    for view, nodes, placed, ask in cases(clusters):
        want = {}
        for each in nodes:
            if reasons := plain_fit(ask, dict(each.allocatable), on(each.name, placed)):
                want[each.name] = sorted(reasons)
        found = refusals(plugin, ask, view)
        assert {name: sorted(reasons) for name, reasons in found.items()} == want
        by_row = {each.name for each in nodes if not plugin.filter_row(CycleState(), ask, view, view.index[each.name])}
        assert by_row == set(want)
        seen += len(want)
    assert seen > CLUSTERS  # the draw refuses often enough to mean something


def plain_score(ask, has, there, strategy):
    total = weights = 0
    for resource, mine in (("cpu", ask.spec.scoring_cpu), ("memory", ask.spec.scoring_memory)):
        capacity = min(has.get(resource, 0), 1 << 56)
        if not capacity:
            continue
        field = f"scoring_{resource}"
        wanted = min(sum(getattr(each.spec, field) for each in there), 1 << 57) + mine
        if strategy == LEAST_ALLOCATED:
            total += 0 if wanted > capacity else (capacity - wanted) * 100 // capacity
        else:
            total += min(wanted, capacity) * 100 // capacity
        weights += 1
    return total // weights if weights else 0


@pytest.mark.parametrize("strategy", [LEAST_ALLOCATED, MOST_ALLOCATED])
def test_fit_scores_as_a_plain_reading_does(clusters, strategy):
    plugin = NodeResourcesFit(FitArgs(strategy=strategy))
    for view, nodes, placed, ask in cases(clusters):
        scores = plugin.score(CycleState(), ask, view)
        for each in nodes:
            want = plain_score(ask, dict(each.allocatable), on(each.name, placed), strategy)
            row = view.index[each.name]
            assert scores[row] == want
            assert plugin.score_row(CycleState(), ask, view, row) == want


def test_cordoned_nodes_are_refused_as_by_a_plain_reading(clusters):
    plugin = NodeUnschedulable()
    for view, nodes, _, ask in cases(clusters):
        tolerates = any(not each.key or each.key == CORDON for each in ask.spec.tolerations)
        assert set(refusals(plugin, ask, view)) == {each.name for each in nodes if each.unschedulable and not tolerates}


def test_named_nodes_are_the_only_ones_as_by_a_plain_reading(clusters):
    plugin = NodeName()
    for view, nodes, _, ask in cases(clusters):
        assert set(refusals(plugin, ask, view)) == {each.name for each in nodes if ask.node and each.name != ask.node}
