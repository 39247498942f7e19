"""Single rows that changed: what is said of them is what a pass over all nodes says, whoever is asked."""

from __future__ import annotations

import random

import numpy as np
import pytest

from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.scoring import by_greatest
from tests.harness.framework import handle, runtime_of, table_of
from tests.harness.objects import node, pod


class Rows:
    """Asked about rows: it refuses nodes with a label, and likes others; it counts how often it is asked."""

    name = "Rows"
    by_node = True

    def __init__(self):
        self.asked = 0

    def filter(self, state, pod, nodes):
        return np.array([each is None or "off" not in each.labels for each in nodes.objects])

    def filter_row(self, state, pod, nodes, row):
        self.asked += 1
        return "off" not in nodes.objects[row].labels

    def explain(self, state, pod, nodes):
        return ()

    def score(self, state, pod, nodes):
        return np.array([0 if each is None else self._liked(each) for each in nodes.objects], np.int64)

    def score_row(self, state, pod, nodes, row):
        self.asked += 1
        return self._liked(nodes.objects[row])

    def scale(self, scores, greatest):
        return by_greatest(scores, greatest)

    def signature(self, pod):
        return ()

    @staticmethod
    def _liked(of):
        return int(of.labels.get("liked", 0))


class Crowds(Rows):
    """Likes nodes by the pods on them."""

    name = "Crowds"
    by_node = False

    def filter(self, state, pod, nodes):
        return nodes.requested[3] < 2

    def filter_row(self, state, pod, nodes, row):
        return nodes.requested.item(3, row) < 2

    def score(self, state, pod, nodes):
        return nodes.requested[3].copy()

    def score_row(self, state, pod, nodes, row):
        return nodes.requested.item(3, row)


def drawn(draw, number):
    labels = {"liked": f"{draw.randrange(4)}"} | ({"off": ""} if draw.random() < 0.2 else {})
    return node(f"n{number}", labels=labels, allocatable={"cpu": "8", "memory": "8Gi", "pods": 3})


def test_who_looks_at_nodes_alone_is_asked_again_when_one_changes():
    rows, table = Rows(), table_of([node(f"n{number}") for number in range(24)])
    runtime = runtime_of(rows)
    asked = []
    for number in range(9):
        if number == 6:
            table.set_node(node("n1", labels={"off": ""}))
        found = runtime.place(CycleState(), pod(uid=f"u{number}"), table.snapshot())
        table.add_pod(found.node_name, pod(uid=f"u{number}"))
        asked.append(rows.asked)
    assert asked[5] == 0
    assert asked[6] > 0
    assert asked[8] == asked[6]


@pytest.mark.parametrize("kinds", [(Rows,), (Crowds,), (Rows, Crowds)], ids=["nodes", "pods", "both"])
@pytest.mark.parametrize("seed", range(12))
def test_rows_stand_as_a_pass_over_all_has_them(kinds, seed):
    draw = random.Random(seed)  # noqa: S311  # drawn tests, no secret
    table = table_of([drawn(draw, number) for number in range(24)])
    plugins = [kind() for kind in kinds]
    weights = {each.name: 3 for each in plugins}
    shared = runtime_of(*plugins, weights=weights, with_handle=handle(seed=seed))
    alone = runtime_of(*plugins, weights=weights, with_handle=handle(seed=seed))._evaluator
    placed = []
    for number in range(80):
        each, view = pod(uid=f"u{number}", requests={"cpu": "100m"}), table.snapshot()
        found, want = shared.place(CycleState(), each, view), alone.place(CycleState(), each, view)
        if isinstance(want, Diagnosis):
            assert found.message == want.message
            table.remove_pod(*placed.pop(draw.randrange(len(placed))))
            continue
        assert (found.node_name, found.feasible) == (want.node_name, want.feasible)
        assert want.feasible == 1 or found.score == want.score
        table.add_pod(found.node_name, each)
        placed.append((found.node_name, each.uid))
        if draw.random() < 0.1:
            table.remove_pod(*placed.pop(draw.randrange(len(placed))))
        if draw.random() < 0.2:  # one that nobody asked us about, on a node that may refuse others
            name, other = f"n{draw.randrange(24)}", pod(uid=f"other{number}")
            table.add_pod(name, other)
            placed.append((name, other.uid))
        if draw.random() < 0.1:
            table.set_node(drawn(draw, draw.randrange(24)))
