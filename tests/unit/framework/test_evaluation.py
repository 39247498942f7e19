from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.interface import PreFilterResult, Refusal
from replica.framework.placement import Placement
from replica.framework.status import SKIP, SUCCESS, Code, PluginFailed, Status, unresolvable, unschedulable
from tests.harness.framework import handle, message_of, runtime_of, table_of
from tests.harness.objects import node, pod


class Named:
    """A plugin put together by a test."""

    def __init__(self, name):
        self._name = name

    @property
    def name(self):
        return self._name


class Refuses(Named):
    """A vector filter that refuses the nodes named."""

    def __init__(self, name, nodes, reason="no", code=Code.UNSCHEDULABLE):
        super().__init__(name)
        self.nodes, self.reason, self.code, self.asked = set(nodes), reason, code, 0

    def filter(self, state, pod, nodes):
        self.asked += 1
        return ~nodes.named(self.nodes)

    def explain(self, state, pod, nodes):
        return (Refusal(self.reason, nodes.named(self.nodes), self.code),)


class RefusesOne(Named):
    """The same, one node at a time."""

    def __init__(self, name, verdicts):
        super().__init__(name)
        self.verdicts, self.asked = verdicts, []

    def filter_node(self, state, pod, node):
        self.asked.append(node.name)
        return self.verdicts.get(node.name, SUCCESS)


class Scores(Named):
    def __init__(self, name, scores):
        super().__init__(name)
        self.scores = scores

    def score(self, state, pod, nodes):
        return np.array([self.scores.get(name, 0) for name in nodes.names], np.int64)


class ScoresOne(Named):
    def __init__(self, name, scores):
        super().__init__(name)
        self.scores = scores

    def score_node(self, state, pod, node):
        return self.scores[node.name]

    def normalize(self, state, pod, scores, feasible):
        return scores * 100 // max(1, int(scores[feasible].max()))


class Pre(Refuses):
    def __init__(self, name, result, nodes=()):
        super().__init__(name, nodes)
        self.result = result

    def pre_filter(self, state, pod, nodes):
        return self.result


class PreScores(Scores):
    def __init__(self, name, scores, status):
        super().__init__(name, scores)
        self.status, self.feasible = status, None

    def pre_score(self, state, pod, nodes, feasible):
        self.feasible = sorted(np.array(nodes.names)[feasible].tolist())
        return self.status


class Broken(Named):
    def filter(self, state, pod, nodes):
        raise ZeroDivisionError("oh")

    def explain(self, state, pod, nodes):
        return ()


THREE = [node("a"), node("b"), node("c")]


def place(runtime, nodes=THREE, asked=None, placed=()):
    return runtime.place(CycleState(), asked or pod(requests={"cpu": "1"}), table_of(nodes, placed).snapshot())


def test_the_emptiest_node_wins():
    placed = [("a", pod(requests={"cpu": "2"})), ("b", pod(requests={"cpu": "1"}))]
    found = place(runtime_of(), placed=placed)
    assert isinstance(found, Placement)
    assert (found.node_name, found.feasible, found.evaluated) == ("c", 3, 3)


def test_ties_are_broken_by_chance_and_the_seed_repeats_it():
    def run(seed):
        runtime = runtime_of(with_handle=handle(seed=seed))
        return [place(runtime).node_name for _ in range(300)]

    chosen = Counter(run(1))
    assert set(chosen) == {"a", "b", "c"}
    assert min(chosen.values()) > 50
    assert run(1) == run(1)
    assert run(1) != run(2)


def test_reasons_are_counted_per_node_and_sorted_as_text():
    nodes = [node("a"), node("b"), *(node(f"c{number}", unschedulable=True) for number in range(3))]
    placed = [("a", pod(requests={"cpu": "4"})), ("b", pod(requests={"cpu": "4"}))]
    view = table_of(nodes, placed).snapshot()
    assert message_of(runtime_of(), pod(requests={"cpu": "1"}), view) == (
        "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) were unschedulable."
    )


def test_a_node_counts_under_its_first_refusal_only_but_under_all_reasons_of_that():
    nodes = [node("a", unschedulable=True), node("b")]
    view = table_of(nodes).snapshot()
    assert message_of(runtime_of(), pod(requests={"cpu": "9", "memory": "9Gi"}), view) == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 node(s) were unschedulable."
    )


def test_counts_sort_before_numbers():
    nodes = [node(f"n{number}", unschedulable=number < 10) for number in range(12)]
    view = table_of(nodes).snapshot()
    assert message_of(runtime_of(), pod(requests={"cpu": "9"}), view) == (
        "0/12 nodes are available: 10 node(s) were unschedulable, 2 Insufficient cpu."
    )


def test_without_nodes_there_is_another_message():
    assert message_of(runtime_of(), pod(), table_of([]).snapshot()) == "no nodes available to schedule pods"


def test_removed_nodes_are_neither_chosen_nor_counted():
    table = table_of(THREE)
    table.remove_node("b")
    table.set_node(node("c", unschedulable=True))
    view = table.snapshot()
    runtime = runtime_of()
    assert {runtime.place(CycleState(), pod(), view).node_name for _ in range(50)} == {"a"}
    table.remove_node("a")
    assert message_of(runtime, pod(), table.snapshot()) == "0/1 nodes are available: 1 node(s) were unschedulable."


def test_a_diagnosis_names_who_refused_and_where_preemption_may_help():
    nodes = [node("a"), node("b", allocatable={"cpu": "1", "pods": 9}), node("c", unschedulable=True)]
    table = table_of(nodes, [("a", pod(requests={"cpu": "4"}))])
    view = table.snapshot()
    found = runtime_of().place(CycleState(), pod(requests={"cpu": "2"}), view)
    assert isinstance(found, Diagnosis)
    assert found.plugins == {"NodeResourcesFit", "NodeUnschedulable"}
    assert [view.names[row] for row in np.flatnonzero(found.resolvable)] == ["a"]


def test_nothing_is_resolvable_where_no_preemption_helps():
    found = place(runtime_of(), [node("a", unschedulable=True)])
    assert isinstance(found, Diagnosis)
    assert found.resolvable is None


def test_a_pod_that_needs_what_nobody_gives_is_refused_in_words():
    found = place(runtime_of(), asked=pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]))
    assert isinstance(found, Diagnosis)
    assert found.message.startswith("0/3 nodes are available: volume v is a persistentVolumeClaim")
    assert found.plugins == {"SupportedFeatures"}


# --- plugins for one node at a time


def test_a_plugin_for_one_node_is_asked_only_of_nodes_that_are_left():
    late = RefusesOne("Late", {"b": unschedulable("not b")})
    found = place(runtime_of(late), [node("a", unschedulable=True), node("b"), node("c")])
    assert found.node_name == "c"
    assert late.asked == ["b", "c"]


def test_refusals_of_both_kinds_are_counted_together():
    late = RefusesOne("Late", {"b": unschedulable("not b", "never b"), "c": unresolvable("not c")})
    found = place(runtime_of(late), [node("a", unschedulable=True), node("b"), node("c")])
    assert isinstance(found, Diagnosis)
    assert found.message == ("0/3 nodes are available: 1 never b, 1 node(s) were unschedulable, 1 not b, 1 not c.")
    assert found.plugins == {"Late", "NodeUnschedulable"}


def test_scores_of_one_node_at_a_time_are_normalized_weighted_and_added():
    one = ScoresOne("One", {"a": 1, "b": 2, "c": 4})
    other = Scores("Other", {"a": 100, "b": 60, "c": 0})
    found = place(runtime_of(one, other, weights={"Other": 2}))
    # Beside what the defaults give to all alike: 25 + 200, 50 + 120, 100 + 0.
    assert found.node_name == "a"
    found = place(runtime_of(one, other, weights={"One": 3}))
    assert found.node_name == "c"


def test_an_error_of_a_plugin_for_one_node_ends_the_cycle():
    with pytest.raises(PluginFailed, match="Late"):
        place(runtime_of(RefusesOne("Late", {"a": Status(Code.ERROR, ("disk",))})))


# --- PreFilter and PreScore


def test_pre_filter_may_narrow_the_nodes():
    only = Pre("Only", PreFilterResult(node_names=frozenset({"b", "elsewhere"})))
    assert {place(runtime_of(only)).node_name for _ in range(30)} == {"b"}


def test_two_narrowings_leave_what_both_allow():
    first = Pre("First", PreFilterResult(node_names=frozenset({"a", "b"})))
    second = Pre("Second", PreFilterResult(node_names=frozenset({"b", "c"})))
    assert place(runtime_of(first, second)).node_name == "b"


def test_nodes_left_out_by_pre_filter_are_told_of():
    only = Pre("Only", PreFilterResult(node_names=frozenset({"b"})))
    found = place(runtime_of(only), placed=[("b", pod(requests={"cpu": "4"}))])
    assert found.message == ("0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [Only].")
    assert found.plugins == {"Only", "NodeResourcesFit"}
    assert found.resolvable.tolist() == [False, True, False]


def test_pre_filter_may_refuse_the_pod_everywhere():
    found = place(runtime_of(Pre("No", PreFilterResult(unresolvable("wrong day")))))
    assert found.message == "0/3 nodes are available: wrong day."
    assert found.plugins == {"No"}
    assert found.resolvable is None


def test_pre_filter_may_skip_its_filter():
    skips = Pre("Skips", PreFilterResult(SKIP), nodes=["a", "b", "c"])
    assert isinstance(place(runtime_of(skips)), Placement)
    assert skips.asked == 0


def test_pre_score_sees_the_feasible_nodes_and_may_skip_its_score():
    skips = PreScores("Skips", {"a": 100}, SKIP)
    found = place(
        runtime_of(skips), [*THREE, node("d", unschedulable=True)], placed=[("a", pod(requests={"cpu": "1"}))]
    )
    assert skips.feasible == ["a", "b", "c"]
    assert found.node_name != "a"


def test_one_feasible_node_needs_no_scores():
    scores = PreScores("Scores", {}, SUCCESS)
    place(runtime_of(scores), [node("a"), node("b", unschedulable=True)])
    assert scores.feasible is None


# --- what a broken plugin does


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        (Broken("Broken"), "running Filter plugin 'Broken': oh"),
        (Scores("Wild", {"b": 101}), "running Score plugin 'Wild': score 101 is outside 0 to 100"),
        (Scores("Wild", {"b": -1}), "running Score plugin 'Wild': score -1 is outside 0 to 100"),
        (Pre("Bad", PreFilterResult(Status(Code.ERROR, ("lost",)))), "running PreFilter plugin 'Bad': lost"),
        (PreScores("Bad", {}, Status(Code.ERROR, ("lost",))), "running PreScore plugin 'Bad': lost"),
    ],
)
def test_a_broken_plugin_is_named(plugin, words):
    with pytest.raises(PluginFailed) as caught:
        place(runtime_of(plugin))
    assert str(caught.value) == words


def test_a_column_of_another_shape_is_refused():
    class Short(Refuses):
        def filter(self, state, pod, nodes):
            return np.ones(nodes.size + 1, np.bool_)

    with pytest.raises(PluginFailed, match="Short"):
        place(runtime_of(Short("Short", ())))


def test_wild_scores_of_nodes_that_are_out_anyway_do_not_matter():
    nodes = [node("a"), node("b"), node("c", unschedulable=True)]
    assert place(runtime_of(Scores("Wild", {"c": 999})), nodes).node_name in {"a", "b"}
