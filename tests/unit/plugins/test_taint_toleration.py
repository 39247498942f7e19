from __future__ import annotations

import numpy as np
import pytest

from replica.framework.cycle_state import CycleState
from replica.framework.status import Code
from replica.plugins.taint_toleration import TaintToleration, after_node, after_pod
from replica.queue.hints import Hint
from tests.harness.framework import refusals, table_of
from tests.harness.objects import node, pod

PLUGIN = TaintToleration()


def taint(key="k", value="v", effect="NoSchedule"):
    return {"key": key, "value": value, "effect": effect}


def tolerates(key="k", operator="Equal", value="v", effect="NoSchedule"):
    return {"key": key, "operator": operator, "value": value, "effect": effect}


WHY = ["node(s) had untolerated taint {k: v}"]


@pytest.mark.parametrize(
    ("taints", "tolerations", "reasons"),
    [
        ([], [], []),
        ([], [tolerates()], []),
        ([taint()], [], WHY),
        ([taint(effect="NoExecute")], [], WHY),
        ([taint(effect="PreferNoSchedule")], [], []),
        ([taint(value="")], [], ["node(s) had untolerated taint {k: }"]),
        ([taint()], [tolerates()], []),
        ([taint()], [tolerates(operator="")], []),
        ([taint()], [tolerates(value="w")], WHY),
        ([taint()], [tolerates(key="j")], WHY),
        ([taint()], [tolerates(operator="Exists", value="")], []),
        ([taint()], [tolerates(key="", operator="Exists", value="")], []),
        ([taint()], [tolerates(key="", operator="Exists", value="", effect="NoExecute")], WHY),
        ([taint()], [tolerates(effect="")], []),
        ([taint(effect="NoExecute")], [tolerates(effect="")], []),
        ([taint()], [tolerates(effect="NoExecute")], WHY),
        ([taint(), taint("l", "x")], [tolerates()], ["node(s) had untolerated taint {l: x}"]),
        ([taint(), taint("l", "x")], [tolerates("l", value="x")], WHY),
        # The first of several is the one that is told.
        ([taint("l", "x"), taint()], [], ["node(s) had untolerated taint {l: x}"]),
        ([taint(), taint(effect="NoExecute")], [tolerates()], WHY),
        ([taint(), taint("l", "x")], [tolerates(), tolerates("l", value="x")], []),
    ],
)
def test_what_keeps_a_pod_off(taints, tolerations, reasons):
    view = table_of([node("a", taints=tuple(taints)), node("b")]).snapshot()
    ask = pod(tolerations=tolerations)
    assert refusals(PLUGIN, ask, view).get("a", []) == reasons
    assert PLUGIN.filter_row(CycleState(), ask, view, view.index["a"]) is not bool(reasons)
    assert PLUGIN.filter_row(CycleState(), ask, view, view.index["b"])


def test_no_preemption_takes_a_taint_away():
    view = table_of([node("a", taints=(taint(),))]).snapshot()
    assert {refusal.code for refusal in PLUGIN.explain(CycleState(), pod(), view)} == {Code.UNRESOLVABLE}


def test_nodes_without_taints_cost_nothing():
    view = table_of([node("a"), node("b", taints=(taint(effect="PreferNoSchedule"),))]).snapshot()
    assert PLUGIN.filter(CycleState(), pod(), view) is None
    assert PLUGIN.score(CycleState(), pod(tolerations=[tolerates(effect="")]), view) is None


def test_taints_that_come_and_go_and_a_row_that_is_used_again():
    table = table_of([node("a"), node("b")])
    assert refusals(PLUGIN, pod(), table.snapshot()) == {}
    table.set_node(node("a", taints=(taint(),)))
    assert refusals(PLUGIN, pod(), table.snapshot()) == {"a": WHY}
    table.remove_node("a")
    assert refusals(PLUGIN, pod(), table.snapshot()) == {}
    table.set_node(node("c"))
    assert refusals(PLUGIN, pod(), table.snapshot()) == {}
    table.set_node(node("b", taints=(taint(value="w"),)))
    assert refusals(PLUGIN, pod(), table.snapshot()) == {"b": ["node(s) had untolerated taint {k: w}"]}


def test_many_sets_of_taints_are_numbered_anew():
    table = table_of([node("a"), node("b")])
    for number in range(1100):
        table.set_node(node("a", taints=(taint(value=str(number)),)))
        found = refusals(PLUGIN, pod(), table.snapshot())
        assert found == {"a": [f"node(s) had untolerated taint {{k: {number}}}"]}
    assert len(table.snapshot().facts.taints().sets) < 1100


PREFER = taint(effect="PreferNoSchedule")


@pytest.mark.parametrize(
    ("tolerations", "scores"),
    [
        ([], [0, 1, 2]),
        ([tolerates(effect="PreferNoSchedule")], [0, 0, 1]),
        ([tolerates(effect="")], [0, 0, 1]),
        ([tolerates(effect="NoSchedule")], [0, 1, 2]),
        ([tolerates(key="", operator="Exists", value="", effect="")], [0, 0, 0]),
    ],
)
def test_taints_that_a_pod_would_rather_not_meet_are_counted(tolerations, scores):
    more = taint("l", "x", "PreferNoSchedule")
    view = table_of([node("a"), node("b", taints=(PREFER,)), node("c", taints=(PREFER, taint(), more))]).snapshot()
    ask = pod(tolerations=tolerations)
    found = PLUGIN.score(CycleState(), ask, view)
    assert ([0, 0, 0] if found is None else found.tolist()) == scores
    assert [PLUGIN.score_row(CycleState(), ask, view, row) for row in range(3)] == scores


@pytest.mark.parametrize(
    ("raw", "greatest", "scores"),
    [([0, 0], 0, [100, 100]), ([0, 1, 2], 2, [100, 50, 0]), ([0, 1, 3], 3, [100, 67, 0]), ([2, 2], 2, [0, 0])],
)
def test_the_fewer_the_better(raw, greatest, scores):
    assert PLUGIN.scale(np.array(raw), greatest).tolist() == scores


OPEN, TAINTED = node("a"), node("a", taints=(taint(),))


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, OPEN, Hint.QUEUE),
        (None, TAINTED, Hint.SKIP),
        (TAINTED, OPEN, Hint.QUEUE),
        (TAINTED, TAINTED, Hint.SKIP),
        (OPEN, OPEN, Hint.SKIP),
        (OPEN, TAINTED, Hint.SKIP),
        (OPEN, None, Hint.QUEUE),
    ],
)
def test_a_node_helps_whose_taints_are_newly_tolerated(old, new, hint):
    assert after_node(pod(), old, new) is hint


def test_only_the_pods_own_tolerations_help_it():
    ask = pod(uid="me")
    assert after_pod(ask, ask, pod(uid="me", tolerations=[tolerates()])) is Hint.QUEUE
    assert after_pod(ask, ask, pod(uid="other", tolerations=[tolerates()])) is Hint.SKIP
