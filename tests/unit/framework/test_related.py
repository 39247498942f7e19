"""Plugins that look at pods on other nodes: asked anew for each pod, on top of what pods that are alike share."""

from __future__ import annotations

import numpy as np
import pytest

from replica.framework.cycle_state import CycleState
from replica.framework.interface import PreFilterResult, Refusal
from replica.framework.status import PluginFailed
from tests.harness.framework import message_of, runtime_of, table_of
from tests.harness.neighbours import neighbour
from tests.harness.objects import node


class Refuses:
    """Refuses some nodes, by themselves."""

    name = "Refuses"

    def __init__(self, *off):
        self.off, self.asked = set(off), 0

    def filter(self, state, pod, nodes):
        self.asked += 1
        return np.array([name not in self.off for name in nodes.names])

    def explain(self, state, pod, nodes):
        return (Refusal(f"node(s) kept by {self.name}", ~self.filter(state, pod, nodes)),)

    def signature(self, pod):
        return ()


class Relates(Refuses):
    """Does so to the pods that have labels, whatever others share."""

    name = "Relates"
    signature = None

    def concerns(self, pod, nodes):
        return bool(pod.labels)

    def pre_filter(self, state, pod, nodes):
        state.write(self.name, "seen")
        return PreFilterResult()


class Broken(Relates):
    def concerns(self, pod, nodes):
        raise OSError("no neighbours")


def soft(count):
    return tuple({"key": f"k{number}", "value": "", "effect": "PreferNoSchedule"} for number in range(count))


A = {"app": "a"}


def test_it_is_asked_about_all_nodes_for_each_pod_that_it_concerns_while_others_share():
    relates, refuses = Relates(), Refuses()
    runtime, table = runtime_of(refuses, relates), table_of([node(f"n{number}") for number in range(20)])
    for labels in (A, A, None, A):
        each, state = neighbour(labels=labels), CycleState()
        found = runtime.place(state, each, table.snapshot())
        assert (state.find("Relates", str) == "seen") is bool(labels)
        assert ("Relates" in state.skip_filter) is not bool(labels)
        table.add_pod(found.node_name, each)
    assert relates.asked == 3
    assert refuses.asked == 4, "once about all nodes, then about the one that changed"


def test_what_it_refuses_is_left_out_and_what_is_left_is_scored_by_itself():
    nodes = [node("a", taints=soft(1)), node("b", taints=soft(1)), node("c", taints=soft(2)), node("d", taints=soft(4))]
    runtime, table = runtime_of(Relates("c", "d")), table_of(nodes)
    plain, related = (runtime.place(CycleState(), neighbour(labels=labels), table.snapshot()) for labels in (None, A))
    want = runtime._evaluator.place(CycleState(), neighbour(labels=A), table.snapshot())
    assert (related.feasible, related.score) == (want.feasible, want.score) == (2, want.score)
    assert plain.feasible == 4
    assert plain.score > related.score, "among all four they are the best, among themselves no better than each other"


def test_why_no_node_is_left_is_told_by_all_in_their_order():
    nodes = [node("a"), node("b", unschedulable=True), node("c")]
    runtime = runtime_of(Relates("a", "b"), Refuses("a", "c"))
    assert message_of(runtime, neighbour(labels=A), table_of(nodes).snapshot()) == (
        "0/3 nodes are available: 1 node(s) kept by Refuses, 1 node(s) kept by Relates, 1 node(s) were unschedulable."
    )
    nowhere = table_of([node("a")]).snapshot()
    first, then = Relates("a"), Refuses("a")
    for ordered, reason in (((first, then), "Relates"), ((then, first), "Refuses")):
        runtime = runtime_of(*ordered)
        message = f"0/1 nodes are available: 1 node(s) kept by {reason}."
        assert message_of(runtime, neighbour(labels=A), nowhere) == message
        assert message_of(runtime, neighbour(labels=A), nowhere) == message


def test_a_refusal_that_is_shared_leaves_the_state_for_preemption():
    runtime, view = runtime_of(Relates()), table_of([node("a", unschedulable=True)]).snapshot()
    for _ in range(2):
        state = CycleState()
        runtime.place(state, neighbour(labels=A), view)
        assert state.read("Relates", str) == "seen"


def test_one_that_raises_ends_the_pods_cycle():
    with pytest.raises(PluginFailed, match="no neighbours"):
        runtime_of(Broken()).place(CycleState(), neighbour(), table_of([node("a")]).snapshot())
