"""Scores that are brought to range by the greatest, kept up to date row by row."""

from __future__ import annotations

import random

import numpy as np
import pytest

from replica.framework.cycle_state import CycleState
from replica.framework.scoring import Scaled, Scores, by_greatest
from replica.framework.standing import Standing
from replica.framework.status import PluginFailed
from tests.harness.framework import runtime_of, table_of
from tests.harness.objects import node, pod


class Shares:
    """Scores by a label, the greatest 100."""

    name = "Shares"

    def __init__(self, scores):
        self.scores, self.asked = scores, []

    def filter(self, state, pod, nodes):
        self.asked.append(nodes.size)

    def explain(self, state, pod, nodes):
        return ()

    def signature(self, pod):
        return "same"

    def score(self, state, pod, nodes):
        found = [self.scores.get(name, 0) for name in nodes.names]
        return np.array(found, np.int64) if any(found) else None

    def scale(self, scores, greatest):
        return by_greatest(scores, greatest)


class Wide(Shares):
    """Looks at how many nodes there are."""

    name = "Wide"

    def across(self, pod, nodes):
        return nodes.total


class Broken(Wide):
    name = "Broken"

    def across(self, pod, nodes):
        raise ZeroDivisionError("oh")


def place(plugin, table):
    return runtime_of(plugin).place(CycleState(), pod(), table.snapshot())


@pytest.mark.parametrize(
    ("scores", "best", "score"), [({"a": 1, "b": 7}, {"b"}, 100), ({}, {"a", "b", "c"}, 0), ({"c": 3}, {"c"}, 100)]
)
def test_the_greatest_feasible_score_counts_in_full(scores, best, score):
    table = table_of([node("a"), node("b"), node("c")])
    without = runtime_of().place(CycleState(), pod(), table.snapshot()).score
    found = place(Shares(scores), table)
    assert found.node_name in best
    assert found.score - without == score


def test_what_is_not_feasible_does_not_count():
    table = table_of([node("a"), node("b"), node("c", unschedulable=True)])
    without = runtime_of().place(CycleState(), pod(), table.snapshot()).score
    found = place(Shares({"a": 1, "b": 2, "c": 1000}), table)
    assert (found.node_name, found.score - without) == ("b", 100)


def test_pods_share_though_their_scores_are_scaled():
    shares, table = Shares({f"n{number}": number for number in range(20)}), table_of([])
    for number in range(20):
        table.set_node(node(f"n{number}", allocatable={"cpu": 1, "memory": "1Gi", "pods": 1}))
    runtime = runtime_of(shares, weights={"Shares": 100})
    chosen = []
    for _ in range(20):
        found = runtime.place(CycleState(), pod(), table.snapshot())
        table.add_pod(found.node_name, pod())
        chosen.append(found.node_name)
    assert chosen == [f"n{number}" for number in reversed(range(20))]
    assert shares.asked == [20, *[1] * 19]


def test_all_nodes_are_asked_about_anew_when_what_is_beyond_them_changed():
    wide, table = Wide({}), table_of([node(f"n{number}") for number in range(20)])
    runtime = runtime_of(wide)
    for step in (lambda: None, lambda: table.add_pod("n1", pod()), lambda: table.remove_node("n3")):
        step()
        runtime.place(CycleState(), pod(), table.snapshot())
    assert wide.asked == [20, 1, 20]


@pytest.mark.parametrize("scores", [{"a": -1}, {"b": -5, "a": 7}])
def test_a_negative_score_is_an_error(scores):
    with pytest.raises(PluginFailed, match="outside 0 to any"):
        place(Shares(scores), table_of([node("a"), node("b")]))


def test_a_plugin_that_breaks_is_named():
    with pytest.raises(PluginFailed, match="Broken"):
        place(Broken({}), table_of([node("a"), node("b")]))


@pytest.mark.parametrize("seed", range(40))
def test_scaled_scores_are_kept_as_a_plain_reading_has_them(seed):
    draw = random.Random(seed)  # noqa: S311  # drawn tests, no secret
    size = draw.randrange(1, 7)
    fits = [draw.random() < 0.7 for _ in range(size)]
    base = [draw.randrange(3) for _ in range(size)]
    raws = [[draw.choice((0, 0, 1, 3, 7)) if draw.random() < 0.6 else 0 for _ in range(size)] for _ in range(2)]
    weights, reverse = (draw.randrange(1, 4), draw.randrange(1, 4)), (False, True)

    class Plugin(Shares):
        def __init__(self, *, reverse):
            self.reverse = reverse

        def scale(self, scores, greatest):
            return by_greatest(scores, greatest, reverse=self.reverse)

    def scaled():
        return [
            Scaled(Plugin(reverse=back), weight, np.array(raw, np.int64) if any(raw) else None)
            for raw, weight, back in zip(raws, weights, reverse, strict=True)
        ]

    def plain(row):
        total = base[row]
        for raw, weight, back in zip(raws, weights, reverse, strict=True):
            greatest = max(raw[other] for other in range(size) if fits[other])
            share = raw[row] * 100 // greatest if greatest else 0
            total += weight * (100 - share if back else share)
        return total

    view = table_of([node(f"n{number}") for number in range(size)]).snapshot()
    standing = Standing(
        pod(), CycleState(), nodes=view, feasible=np.array(fits), scores=Scores(np.array(base, np.int64), scaled())
    )
    for _ in range(60):
        want = {row: plain(row) for row in range(size) if fits[row]}
        chosen = standing.choose(draw)
        assert (chosen is None) is (not want)
        if chosen is not None:
            assert want[chosen] == max(want.values())
            assert standing.score(chosen) == want[chosen]
        row = draw.randrange(size)
        fits[row] = draw.random() < 0.6
        base[row] = draw.randrange(3) if fits[row] else 0
        for raw in raws:
            raw[row] = draw.choice((0, 0, 1, 3, 7)) if fits[row] else 0
        parts = [raw[row] for raw in raws] if fits[row] else ()
        standing.update_row(row, fits=fits[row], score=base[row], parts=parts)
