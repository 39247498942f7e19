"""Pods that are alike share an evaluation: the same choices as if each had been evaluated by itself."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.interface import PreFilterResult
from replica.framework.scoring import Scores
from replica.framework.standing import Standing, Standings
from tests.harness.drawn import DrawnCluster
from tests.harness.framework import handle, runtime_of, table_of
from tests.harness.objects import node, pod

seeds = st.integers(0, 2**40)


class Counts:
    """A filter that notes how many rows it is asked about."""

    name = "Counts"

    def __init__(self):
        self.asked = []

    def filter(self, state, pod, nodes):
        self.asked.append(nodes.size)

    def explain(self, state, pod, nodes):
        return ()

    def signature(self, pod):
        return pod.labels.get("kind", "")


class Normalizes(Counts):
    """A score that depends on which nodes are feasible."""

    name = "Normalizes"

    def score(self, state, pod, nodes):
        return nodes.requested[3].copy()

    def normalize(self, state, pod, scores, feasible):
        most = int(scores[feasible].max())
        return 100 - scores * 100 // most if most else scores


class Narrows(Counts):
    name = "Narrows"

    def pre_filter(self, state, pod, nodes):
        state.write("Narrows", ["seen"])
        return PreFilterResult(node_names=frozenset({"n1", "n3"}))


def nodes(count=20):
    return [node(f"n{number}", allocatable={"cpu": "4", "memory": "8Gi", "pods": 20}) for number in range(count)]


def place_all(runtime, table, count, **fields):
    found = []
    for _ in range(count):
        each = pod(**fields)
        placement = runtime.place(CycleState(), each, table.snapshot())
        found.append(placement)
        if not isinstance(placement, Diagnosis):
            table.add_pod(placement.node_name, each)
    return found


def test_after_the_first_only_rows_that_changed_are_asked_about():
    counts = Counts()
    place_all(runtime_of(counts), table_of(nodes()), 10, requests={"cpu": "1"})
    assert counts.asked == [20, *[1] * 9]


def test_pods_of_another_kind_are_evaluated_by_themselves():
    counts = Counts()
    runtime, table = runtime_of(counts), table_of(nodes(40))
    place_all(runtime, table, 2, requests={"cpu": "1"})
    place_all(runtime, table, 2, requests={"cpu": "2"})
    place_all(runtime, table, 1, requests={"cpu": "1"})
    # The last one asks about the two nodes that got pods of the other kind, and one of its own.
    assert counts.asked == [40, 1, 40, 1, 3]


def test_nodes_that_come_are_seen():
    runtime, table = runtime_of(), table_of([node("n0", allocatable={"cpu": "1", "memory": "1Gi", "pods": 9})])
    place_all(runtime, table, 1, requests={"cpu": "1"})
    assert isinstance(place_all(runtime, table, 1, requests={"cpu": "1"})[0], Diagnosis)
    table.set_node(node("n1"))
    assert place_all(runtime, table, 1, requests={"cpu": "1"})[0].node_name == "n1"


def test_nodes_that_go_are_not_chosen():
    runtime, table = runtime_of(), table_of(nodes(3))
    place_all(runtime, table, 1, requests={"cpu": "1"})
    table.remove_node("n0")
    table.set_node(node("n1", unschedulable=True))
    assert {each.node_name for each in place_all(runtime, table, 3, requests={"cpu": "1"})} == {"n2"}


def test_a_refusal_is_the_same_until_something_changes():
    counts = Counts()
    runtime, table = runtime_of(counts), table_of([node("n0", unschedulable=True)])
    first, second = place_all(runtime, table, 2)
    assert first is second
    assert counts.asked == [1]
    table.set_node(node("n0"))
    assert place_all(runtime, table, 1)[0].node_name == "n0"


def test_a_score_that_depends_on_other_nodes_is_not_shared():
    normalizes = Normalizes()
    place_all(runtime_of(normalizes), table_of(nodes(5)), 4)
    assert normalizes.asked == [5, 5, 5, 5]


def test_what_pre_filter_found_holds_for_all_of_a_kind():
    narrows = Narrows()
    runtime, table = runtime_of(narrows), table_of(nodes(5))
    chosen = []
    for number in range(8):
        state, each = CycleState(), pod(uid=f"u{number}", requests={"cpu": "1"})
        found = runtime.place(state, each, table.snapshot())
        assert state.read("Narrows", list) == ["seen"]
        chosen.append(found.node_name)
        table.add_pod(found.node_name, each)
    assert set(chosen) == {"n1", "n3"}
    assert isinstance(runtime.place(CycleState(), pod(requests={"cpu": "1"}), table.snapshot()), Diagnosis)


def test_the_shared_choice_is_by_chance_among_the_best():
    runtime = runtime_of(with_handle=handle(seed=3))
    chosen = Counter()
    for _ in range(40):
        table = table_of(nodes(4))
        chosen.update(each.node_name for each in place_all(runtime, table, 2, requests={"cpu": "1"})[:1])
    assert len(chosen) == 4


REQUESTS = ({}, {"cpu": "500m"}, {"cpu": "1", "memory": "1Gi"}, {"memory": "3Gi"}, {"example.com/gpu": 1})


@pytest.mark.parametrize("by_row", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_sharing_chooses_as_a_pass_over_all_does(seed, by_row):
    draw = random.Random(seed)  # noqa: S311  # drawn tests, no secret
    table = table_of(nodes(draw.randrange(1, 12)))
    shared = runtime_of(*([] if by_row else [Counts()]), with_handle=handle(seed=seed))
    unshared = runtime_of(with_handle=handle(seed=seed))._evaluator
    placed = []
    for number in range(200):
        change(draw, table, placed, number)
        each = pod(uid=f"u{number}", requests=draw.choice(REQUESTS))
        view = table.snapshot()
        found = shared.place(CycleState(), each, view)
        alone = unshared.place(CycleState(), each, view)
        if isinstance(alone, Diagnosis):
            assert isinstance(found, Diagnosis)
            assert (found.message, found.plugins) == (alone.message, alone.plugins)
            continue
        assert (found.node_name, found.feasible) == (alone.node_name, alone.feasible)
        assert alone.feasible == 1 or found.score == alone.score
        if draw.random() < 0.7:
            table.add_pod(found.node_name, each)
            placed.append((found.node_name, each.uid))


def change(draw, table, placed, number):
    """What else happens in a cluster."""
    match draw.randrange(12):
        case 0 if placed:
            table.remove_pod(*placed.pop(draw.randrange(len(placed))))
        case 1:
            gpus = {"example.com/gpu": 2} if draw.random() < 0.5 else {}
            table.set_node(node(f"n{draw.randrange(14)}", allocatable={"cpu": "4", "memory": "8Gi", "pods": 9, **gpus}))
        case 2:
            table.set_node(node(f"n{draw.randrange(14)}", unschedulable=True))
        case 3:
            table.remove_node(f"n{draw.randrange(14)}")
        case 4:
            table.add_pod(f"n{draw.randrange(14)}", pod(uid=f"x{number}", requests={"cpu": "700m"}))


@pytest.mark.parametrize("seed", range(30))
def test_the_best_are_known_by_a_plain_reading(seed):
    draw = random.Random(seed)  # noqa: S311  # drawn tests, no secret
    size = draw.randrange(1, 9)
    fits = [draw.random() < 0.7 for _ in range(size)]
    scores = [draw.randrange(4) for _ in range(size)]
    view = table_of([node(f"n{number}") for number in range(size)]).snapshot()
    standing = Standing(
        pod(), CycleState(), nodes=view, feasible=np.array(fits), scores=Scores(np.array(scores, np.int64))
    )
    for _ in range(80):
        rows = draw.sample(range(size), draw.randrange(size + 1))
        for row in rows:
            fits[row], scores[row] = draw.random() < 0.6, draw.randrange(4)
        changed = Scores(np.array([scores[row] for row in rows], int))
        standing.update(rows, np.array([fits[row] for row in rows], bool), changed)
        best = max((scores[row] for row in range(size) if fits[row]), default=None)
        want = {row for row in range(size) if fits[row] and scores[row] == best}
        assert standing.count == sum(fits)
        assert (standing.choose(draw) in want) if want else standing.choose(draw) is None
        assert standing._top == sorted(want)


@settings(max_examples=40)
@given(seeds, st.booleans())
def test_pods_that_share_get_the_very_places_that_they_would_get_one_by_one(seed, roomy):
    """Drawn kinds of pods, with all default plugins, in a cluster that changes; now and then a gang gives up."""
    cluster = DrawnCluster(seed, roomy=roomy)
    draw = cluster.draw
    shared, alone = runtime_of(with_handle=handle(seed=seed)), runtime_of(with_handle=handle(seed=seed))
    kinds = [cluster.ask() for _ in range(3)]
    reused = 0
    for _ in range(12):
        together = []
        for _ in range(draw.randrange(1, 6)):
            each, view = cluster.again(draw.choice(kinds)), cluster.table.snapshot()
            reused += bool(shared._evaluator._standings._by_key)
            found = shared.place(CycleState(), each, view)
            want = alone._evaluator.place(CycleState(), each, view)
            if isinstance(want, Diagnosis):
                assert isinstance(found, Diagnosis)
                assert (found.message, found.plugins) == (want.message, want.plugins)
                continue
            assert (found.node_name, found.feasible) == (want.node_name, want.feasible)
            cluster.place(found.node_name, each)
            together.append(each.uid)
        if draw.random() < 0.3:
            for uid in together:
                cluster.table.remove_pod(cluster.placed.pop(uid)[0], uid)
        if draw.random() < 0.4:
            cluster.change(1)
    assert reused


def test_the_kinds_seen_last_are_kept():
    standings = Standings(kept=2)
    for name in "abc":
        standings.put(name, name)
    assert standings.get("a") is None
    standings.get("b")
    standings.put("d", "d")
    assert (standings.get("b"), standings.get("c")) == ("b", None)
