from __future__ import annotations

import numpy as np
import pytest

from component import strict
from replica.framework.cycle_state import CycleState
from replica.framework.status import Code
from replica.plugins.arguments import NodeResourcesFitArgs
from replica.plugins.node_resources_fit import NodeResourcesFit, after_pod
from replica.plugins.strategies import percent
from replica.queue.hints import Hint
from tests.harness.framework import refusals, table_of
from tests.harness.objects import node, pod

FIT = NodeResourcesFit(NodeResourcesFitArgs())
FOUR = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "10Gi", "pods": 3, "example.com/gpu": 2}


def why(requests, *, used=(), allocatable=FOUR, plugin=FIT, **spec):
    table = table_of([node("a", allocatable=allocatable)], [("a", pod(requests=each)) for each in used])
    return refusals(plugin, pod(requests=requests, **spec), table.snapshot()).get("a", [])


@pytest.mark.parametrize(
    ("requests", "used", "reasons"),
    [
        ({}, [], []),
        ({"cpu": "4"}, [], []),
        ({"cpu": "4001m"}, [], ["Insufficient cpu"]),
        ({"cpu": "1"}, [{"cpu": "3"}], []),
        ({"cpu": "1001m"}, [{"cpu": "3"}], ["Insufficient cpu"]),
        ({"memory": "8Gi"}, [], []),
        ({"memory": "8193Mi"}, [], ["Insufficient memory"]),
        ({"ephemeral-storage": "11Gi"}, [], ["Insufficient ephemeral-storage"]),
        ({"example.com/gpu": 2}, [{"example.com/gpu": 1}], ["Insufficient example.com/gpu"]),
        ({"example.com/fpga": 1}, [], ["Insufficient example.com/fpga"]),
        ({"cpu": "5", "memory": "9Gi"}, [], ["Insufficient cpu", "Insufficient memory"]),
        ({}, [{}, {}], []),
        ({}, [{}, {}, {}], ["Too many pods"]),
        ({"cpu": "5"}, [{}, {}, {}], ["Too many pods", "Insufficient cpu"]),
        # A node that is overcommitted already takes what needs nothing more of it.
        ({"memory": "1Gi"}, [{"cpu": "9"}], []),
        ({}, [{"cpu": "9"}], []),
        # No resource at all is asked for: only the number of pods counts.
        ({"cpu": "0", "memory": "0"}, [{"cpu": "9", "memory": "9Gi"}], []),
    ],
)
def test_what_fits(requests, used, reasons):
    assert why(requests, used=used) == reasons


def test_a_node_for_no_pods_takes_none():
    assert why({}, allocatable={"cpu": "4", "pods": 0}) == ["Too many pods"]


def test_init_containers_count_by_their_peak_and_overhead_on_top():
    init = [{"name": "i", "resources": {"requests": {"cpu": "3500m"}}}]
    assert why({"cpu": "1"}, initContainers=init) == []
    assert why({"cpu": "1"}, initContainers=init, overhead={"cpu": "600m"}) == ["Insufficient cpu"]


def test_a_huge_request_neither_overflows_nor_fits():
    assert why({"memory": "8Ei"}, allocatable={"memory": "7Ei", "pods": 9}) == ["Insufficient memory"]
    assert why({"memory": "7Ei"}, used=[{"memory": "7Ei"}] * 4, allocatable={"memory": "8Gi", "pods": 9}) == [
        "Insufficient memory"
    ]


@pytest.mark.parametrize(
    ("requests", "used", "code"),
    [
        ({"cpu": "2"}, [{"cpu": "3"}], Code.UNSCHEDULABLE),
        ({"cpu": "5"}, [], Code.UNRESOLVABLE),
        ({"example.com/fpga": 1}, [], Code.UNRESOLVABLE),
        ({}, [{}, {}, {}], Code.UNSCHEDULABLE),
    ],
)
def test_preemption_helps_only_where_the_empty_node_would_do(requests, used, code):
    nodes = table_of([node("a", allocatable=FOUR)], [("a", pod(requests=each)) for each in used]).snapshot()
    found = [refusal for refusal in FIT.explain(CycleState(), pod(requests=requests), nodes) if refusal.rows[0]]
    assert [refusal.code for refusal in found] == [code]


def test_ignored_resources_are_left_to_others():
    args = NodeResourcesFitArgs(ignored_resources=("example.com/fpga",), ignored_resource_groups=("own.org",))
    plugin = NodeResourcesFit(args)
    assert why({"example.com/fpga": 1, "own.org/tpu": 8}, plugin=plugin) == []
    assert why({"example.com/gpu": 9}, plugin=plugin) == ["Insufficient example.com/gpu"]


def scores(requests, nodes, *, placed=(), args=None, **spec):
    table = table_of(nodes, placed)
    view = table.snapshot()
    plugin = NodeResourcesFit(strict.decode(args or {}, NodeResourcesFitArgs))
    found = plugin.score(CycleState(), pod(requests=requests, **spec), view)
    if found is None:
        found = [0] * view.size
    return {name: int(found[row]) for row, name in enumerate(view.names)}


EVEN = {"cpu": "10", "memory": "10Gi", "pods": 110}


def test_least_allocated_is_the_mean_share_left():
    nodes = [node("a", allocatable=EVEN), node("b", allocatable=EVEN)]
    placed = [("b", pod(requests={"cpu": "5", "memory": "1Gi"}))]
    # Left over: on a 9 of 10 cores and 8 of 10 Gi, on b 4 cores and 7 Gi.
    assert scores({"cpu": "1", "memory": "2Gi"}, nodes, placed=placed) == {"a": 85, "b": 55}


def test_shares_are_rounded_down_one_by_one_and_again_as_a_mean():
    nodes = [node("a", allocatable={"cpu": "3", "memory": "1000", "pods": 9})]
    # cpu 2/3 -> 66, memory 499/1000 -> 49, mean 57.5 -> 57.
    assert scores({"cpu": "1", "memory": "501"}, nodes) == {"a": 57}


def test_pods_without_requests_count_in_scores_and_only_there():
    nodes = [node("a", allocatable={"cpu": "1", "memory": "400Mi", "pods": 9})]
    # 100m of 1000m leave 90, 200Mi of 400Mi leave 50.
    assert scores({}, nodes) == {"a": 70}
    assert scores({}, nodes, placed=[("a", pod())]) == {"a": (80 + 0) // 2}
    assert scores({"cpu": "500m"}, nodes) == {"a": 50}


def test_more_than_there_is_scores_nothing():
    nodes = [node("a", allocatable={"cpu": "1", "memory": "1Gi", "pods": 9})]
    assert scores({"cpu": "2", "memory": "512Mi"}, nodes) == {"a": 25}


def test_a_node_is_not_judged_by_a_resource_it_lacks():
    nodes = [node("a", allocatable={"cpu": "10", "pods": 9}), node("b", allocatable={"pods": 9})]
    assert scores({"cpu": "1"}, nodes) == {"a": 90, "b": 0}


def test_weights_and_extended_resources_in_scores():
    args = {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 3}, {"name": "example.com/gpu", "weight": 1}]}}
    nodes = [node("a", allocatable={"cpu": "10", "example.com/gpu": 4, "pods": 9})]
    assert scores({"cpu": "5", "example.com/gpu": 1}, nodes, args=args) == {"a": (3 * 50 + 75) // 4}
    # A pod that asks for no such device isn't scored by it.
    assert scores({"cpu": "5"}, nodes, args=args) == {"a": 50}


def test_most_allocated_prefers_the_fuller_node():
    args = {"scoringStrategy": {"type": "MostAllocated"}}
    nodes = [node("a", allocatable=EVEN), node("b", allocatable=EVEN)]
    placed = [("b", pod(requests={"cpu": "5", "memory": "5Gi"}))]
    assert scores({"cpu": "1", "memory": "1Gi"}, nodes, placed=placed, args=args) == {"a": 10, "b": 60}
    assert scores({"cpu": "9", "memory": "1Gi"}, nodes, placed=placed, args=args) == {"a": 50, "b": 80}


def test_scores_of_huge_nodes_do_not_overflow():
    nodes = [node("a", allocatable={"cpu": "9000000000000", "memory": "8Ei", "pods": 9})]
    assert 0 <= scores({"memory": "4Ei"}, nodes)["a"] <= 100


@pytest.mark.parametrize(
    ("requests", "allocatable", "hint"),
    [
        ({"cpu": "4"}, {"cpu": "4", "pods": 1}, Hint.QUEUE),
        ({"cpu": "5"}, {"cpu": "4", "pods": 1}, Hint.SKIP),
        ({}, {"cpu": "4", "pods": 0}, Hint.SKIP),
        ({"example.com/gpu": 1}, {"cpu": "4", "pods": 1}, Hint.SKIP),
    ],
)
def test_a_node_helps_if_it_could_take_the_pod_when_empty(requests, allocatable, hint):
    assert FIT.after_node(pod(requests=requests), None, node(allocatable=allocatable)) is hint
    assert FIT.after_node(pod(requests=requests), node(), None) is Hint.QUEUE


def test_requests_that_are_huge_in_sum_neither_overflow_nor_fit():
    two = [{"name": name, "resources": {"requests": {"memory": "4Ei"}}} for name in "ab"]
    assert why({}, containers=two) == ["Insufficient memory"]
    assert scores({}, [node("a", allocatable={"cpu": "1", "memory": "8Ei", "pods": 9})], containers=two) == {"a": 40}


def test_sidecars_add_up_and_init_containers_do_not():
    def init(cpu, **fields):
        return {"name": f"i{cpu}", "resources": {"requests": {"cpu": cpu}}, **fields}

    sidecar = {"restartPolicy": "Always"}
    assert why({"cpu": "2"}, initContainers=[init("2", **sidecar)]) == []
    assert why({"cpu": "2"}, initContainers=[init("2001m", **sidecar)]) == ["Insufficient cpu"]
    # 1 for the first sidecar while the next runs alone: 4 at the most, and 3 with all that stay.
    assert why({"cpu": "1"}, initContainers=[init("1", **sidecar), init("3"), init("1000m", **sidecar)]) == []
    assert why({"cpu": "1"}, initContainers=[init("1", **sidecar), init("3001m")]) == ["Insufficient cpu"]


def test_hugepages_and_own_resources_can_not_be_ignored():
    args = NodeResourcesFitArgs(
        ignored_resources=("hugepages-2Mi", "kubernetes.io/own"), ignored_resource_groups=("x.kubernetes.io",)
    )
    asked = {"hugepages-2Mi": "2Mi", "kubernetes.io/own": 1, "x.kubernetes.io/y": 1}
    assert why(asked, plugin=NodeResourcesFit(args)) == [f"Insufficient {name}" for name in asked]


def curve(*points, resources=(("cpu", 1),)):
    shape = [{"utilization": at, "score": score} for at, score in points]
    return {
        "scoringStrategy": {
            "type": "RequestedToCapacityRatio",
            "resources": [{"name": name, "weight": weight} for name, weight in resources],
            "requestedToCapacityRatio": {"shape": shape},
        }
    }


@pytest.mark.parametrize(
    ("points", "cpu", "score"),
    [
        ([(0, 0), (100, 10)], "0", 0),
        ([(0, 0), (100, 10)], "5", 50),
        ([(0, 0), (100, 10)], "10", 100),
        # More than there is counts as all of it.
        ([(0, 0), (100, 10)], "11", 100),
        ([(0, 10), (100, 0)], "3", 70),
        # Level before the first point and after the last.
        ([(20, 1), (80, 9)], "1", 10),
        ([(20, 1), (80, 9)], "9", 90),
        # A step down that doesn't come out even is cut off towards the point before.
        ([(0, 10), (30, 3)], "1", 77),
        ([(0, 3), (30, 10)], "1", 53),
        ([(0, 0), (40, 10), (70, 3), (100, 0)], "4", 100),
        ([(50, 7)], "1", 70),
        ([(50, 7)], "9", 70),
    ],
)
def test_a_curve_over_the_utilization(points, cpu, score):
    nodes = [node("a", allocatable={"cpu": "10", "pods": 9})]
    assert scores({"cpu": cpu}, nodes, args=curve(*points)) == {"a": score}


def test_the_mean_of_a_curve_is_rounded_and_leaves_out_what_scores_nothing():
    nodes = [node("a", allocatable={"cpu": "10", "memory": "1000", "example.com/gpu": 4, "pods": 9})]
    weighted = (("cpu", 1), ("memory", 2), ("example.com/gpu", 5))
    args = curve((0, 0), (100, 10), resources=weighted)
    # 50 once and 51 twice: 50.67 -> 51.
    assert scores({"cpu": "5", "memory": "510"}, nodes, args=args) == {"a": 51}
    # 50 and 51: half up.
    args = curve((0, 0), (100, 10), resources=(("cpu", 1), ("memory", 1)))
    assert scores({"cpu": "5", "memory": "510"}, nodes, args=args) == {"a": 51}
    assert scores({"cpu": "5", "memory": "0"}, nodes, args=args) == {"a": 50}
    assert scores({"cpu": "0", "memory": "0"}, nodes, args=args) == {"a": 0}


def test_ephemeral_storage_in_scores():
    args = {"scoringStrategy": {"resources": [{"name": "ephemeral-storage"}]}}
    nodes = [node("a", allocatable={"ephemeral-storage": "10Gi", "pods": 9})]
    assert scores({"ephemeral-storage": "4Gi"}, nodes, args=args) == {"a": 60}
    assert scores({}, nodes, args=args) == {"a": 100}
    # The number of pods is no resource of this kind.
    args = {"scoringStrategy": {"resources": [{"name": "pods"}]}}
    assert scores({}, nodes, args=args) == {"a": 0}


def test_percentages_are_exact_on_both_sides_of_what_floating_point_can_do():
    for kind, whole in ((float, (1 << 46) - 1), (float, 1 << 46), (int, (1 << 46) + 1), (int, (1 << 55) + 1)):
        parts = [whole * share // 100 + more for share in range(100) for more in (0, 1)]
        found = percent(np.array(parts, kind), np.full(len(parts), whole, kind))
        assert found.tolist() == [part * 100 // whole for part in parts]


FOUR_CORES, EIGHT_CORES = ({"cpu": cpu, "memory": "8Gi", "pods": 3} for cpu in ("4", "8"))


@pytest.mark.parametrize(
    ("requests", "old", "new", "hint"),
    [
        ({"cpu": "5"}, FOUR_CORES, EIGHT_CORES, Hint.QUEUE),
        ({"cpu": "1"}, EIGHT_CORES, EIGHT_CORES, Hint.SKIP),
        ({"cpu": "1"}, EIGHT_CORES, FOUR_CORES, Hint.SKIP),
        ({"memory": "1Gi"}, FOUR_CORES, EIGHT_CORES, Hint.SKIP),
        ({"memory": "1Gi"}, FOUR_CORES, {**FOUR_CORES, "pods": 4}, Hint.QUEUE),
        ({"example.com/gpu": 1}, FOUR_CORES, {**FOUR_CORES, "example.com/gpu": 1}, Hint.QUEUE),
        ({"cpu": "9"}, FOUR_CORES, EIGHT_CORES, Hint.SKIP),
    ],
)
def test_a_node_that_changed_helps_if_it_has_more(requests, old, new, hint):
    assert FIT.after_node(pod(requests=requests), node(allocatable=old), node(allocatable=new)) is hint


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (pod(node="a"), None, Hint.QUEUE),
        (pod(), None, Hint.SKIP),
        (pod(node="a", requests={"cpu": "2"}), pod(node="a", requests={"cpu": "1"}), Hint.QUEUE),
        (pod(node="a", requests={"cpu": "2"}), pod(requests={"cpu": "1"}), Hint.SKIP),
        (pod(node="a", requests={"memory": "2"}), pod(node="a", requests={"memory": "1"}), Hint.SKIP),
        (pod(node="a", requests={"cpu": "1"}), pod(node="a", requests={"cpu": "2"}), Hint.SKIP),
        (pod(uid="me", requests={"cpu": "2"}), pod(uid="me", requests={"cpu": "1"}), Hint.QUEUE),
        (None, None, Hint.QUEUE),
    ],
)
def test_a_pod_helps_by_what_it_gives_up(old, new, hint):
    assert after_pod(pod(uid="me", requests={"cpu": "1"}), old, new) is hint
