from __future__ import annotations

import numpy as np
import pytest

from replica.framework.cycle_state import CycleState
from replica.framework.profile import Profile
from replica.framework.runtime import Runtime
from replica.framework.sampling import Sampling, enough
from replica.plugins import in_tree
from tests.harness.framework import handle, table_of
from tests.harness.objects import node, pod


@pytest.mark.parametrize(
    ("percentage", "nodes", "want"),
    [
        (None, 5000, 5000),
        (100, 5000, 5000),
        (0, 99, 99),
        (50, 99, 99),
        (0, 100, 100),
        (0, 1000, 420),  # 50 - 1000 / 125 = 42 %
        (0, 5000, 500),  # 50 - 40
        (0, 6000, 300),  # not below 5 %
        (0, 50_000, 2500),
        (1, 5000, 100),  # not fewer than 100
        (30, 1000, 300),
    ],
)
def test_how_many_are_enough(percentage, nodes, want):
    assert enough(percentage, nodes) == want
    assert Sampling(percentage).applies(nodes) == (want < nodes)


def test_each_look_begins_where_the_last_one_ended():
    sampling = Sampling(25)
    feasible = np.ones(400, np.bool_)
    feasible[150:200] = False
    kept = [np.flatnonzero(sampling.cut(feasible, 400)).tolist() for _ in range(4)]
    assert kept[0] == list(range(100))
    assert kept[1] == [*range(100, 150), *range(200, 250)]
    assert kept[2] == list(range(250, 350))
    assert kept[3] == [*range(50), *range(350, 400)]


def test_fewer_than_enough_are_all_taken():
    feasible = np.zeros(400, np.bool_)
    feasible[:60] = True
    assert Sampling(25).cut(feasible, 400) is feasible


def test_a_profile_scores_no_more_than_it_is_to():
    scored = []

    class Counts:
        name = "Counts"

        def score(self, state, pod, nodes):
            return np.zeros(nodes.size, np.int64)

        def normalize(self, state, pod, scores, feasible):
            scored.append(int(np.count_nonzero(feasible)))
            return scores

    registry = in_tree.registry()
    registry.register("Counts", lambda _args, _handle: Counts())
    nodes = table_of([node(f"n{number}") for number in range(300)]).snapshot()
    for percentage, want in ((None, 300), (40, 120), (0, 144), (100, 300)):
        profile = Profile(defaults=(*in_tree.DEFAULTS, in_tree.Use("Counts")), percentage=percentage)
        placed = Runtime(profile, registry, handle()).place(CycleState(), pod(), nodes)
        assert (placed.feasible, placed.evaluated) == (want, 300)
        assert scored.pop() == want


def test_pods_that_are_alike_are_spread_over_samples():
    runtime = Runtime(Profile(defaults=in_tree.DEFAULTS, percentage=34), in_tree.registry(), handle())
    nodes = table_of([node(f"n{number}") for number in range(300)]).snapshot()
    rows = [runtime.place(CycleState(), pod(), nodes).row for _ in range(3)]
    assert rows[0] < 102 <= rows[1] < 204 <= rows[2]
