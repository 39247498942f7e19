from __future__ import annotations

import pytest

from component import strict
from replica.framework.cycle_state import CycleState
from replica.framework.status import Code
from replica.plugins.arguments import NodeResourcesBalancedAllocationArgs
from replica.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from tests.harness.framework import table_of
from tests.harness.objects import node, pod

EVEN = {"cpu": "10", "memory": "10Gi", "pods": 110}


def plugin(*resources):
    args = {"resources": [{"name": name} for name in resources]} if resources else {}
    return NodeResourcesBalancedAllocation(strict.decode(args, NodeResourcesBalancedAllocationArgs))


def score(requests, *, allocatable=EVEN, used=(), resources=(), more=()):
    nodes = [node("a", allocatable=allocatable), *(node(f"m{n}", allocatable=each) for n, each in enumerate(more))]
    view = table_of(nodes, [("a", pod(requests=each)) for each in used]).snapshot()
    asked, ask = plugin(*resources), pod(requests=requests)
    column = asked.score(CycleState(), ask, view)
    rows = [asked.score_row(CycleState(), ask, view, row) for row in range(view.size)]
    assert column.tolist() == rows
    return rows[0]


@pytest.mark.parametrize(
    ("requests", "used", "want"),
    [
        ({"cpu": "1", "memory": "1Gi"}, [], 100),
        ({"cpu": "5"}, [], 75),
        ({"cpu": "10"}, [], 50),
        ({"cpu": "10", "memory": "5Gi"}, [], 75),
        ({"cpu": "5"}, [{"memory": "5Gi"}], 100),
        ({"cpu": "1"}, [{"memory": "5Gi"}], 80),
        # More than there is counts as all of it.
        ({"cpu": "5", "memory": "10Gi"}, [{"cpu": "15"}], 100),
        # Requests count as they are: no defaults for those who make none.
        ({"cpu": "5"}, [{}, {}], 75),
        ({"cpu": "0", "memory": "0"}, [], 100),
    ],
)
def test_the_deviation_of_two_is_half_their_distance(requests, used, want):
    assert score(requests, used=used) == want


def test_of_three_it_is_the_standard_deviation():
    allocatable = {**EVEN, "example.com/gpu": 10}
    three = ("cpu", "memory", "example.com/gpu")
    # Shares of 0.1, 0.2 and 0.6: 1 - sqrt((0.2^2 + 0.1^2 + 0.3^2) / 3) = 0.784
    requests = {"cpu": "1", "memory": "2Gi", "example.com/gpu": 6}
    assert score(requests, allocatable=allocatable, resources=three) == 78


def test_a_device_that_is_not_requested_does_not_count():
    allocatable = {**EVEN, "example.com/gpu": 10}
    three = ("cpu", "memory", "example.com/gpu")
    assert score({"cpu": "5"}, allocatable=allocatable, resources=three, used=[{"example.com/gpu": 9}]) == 75


@pytest.mark.parametrize(
    ("allocatable", "want"),
    [({"cpu": "10", "pods": 9}, 100), ({"pods": 9}, 100), ({"cpu": "10", "example.com/gpu": 2, "pods": 9}, 75)],
)
def test_a_node_is_judged_by_what_it_has(allocatable, want):
    three = ("cpu", "memory", "example.com/gpu")
    requests = {"cpu": "5", "memory": "1Gi", "example.com/gpu": 2}
    assert score(requests, allocatable=allocatable, resources=three, more=[EVEN, {"pods": 1}]) == want
    assert score(requests, allocatable=allocatable, more=[EVEN, {"pods": 1}]) == 100


def test_one_resource_is_always_balanced():
    assert score({"cpu": "7"}, resources=("cpu",)) == 100
    assert score({"example.com/none": 1}, resources=("example.com/none",)) == 100


@pytest.mark.parametrize(
    ("requests", "resources", "code"),
    [
        ({}, (), Code.SKIP),
        ({"cpu": "0"}, (), Code.SKIP),
        ({"example.com/gpu": 1}, (), Code.SKIP),
        ({"cpu": "1m"}, (), Code.SUCCESS),
        ({"memory": "1"}, (), Code.SUCCESS),
        ({"example.com/gpu": 1}, ("cpu", "example.com/gpu"), Code.SUCCESS),
        ({"ephemeral-storage": 1}, ("ephemeral-storage",), Code.SUCCESS),
    ],
)
def test_a_pod_that_requests_none_of_them_is_not_scored(requests, resources, code):
    view = table_of([node("a")]).snapshot()
    assert plugin(*resources).pre_score(CycleState(), pod(requests=requests), view, view.valid).code is code
