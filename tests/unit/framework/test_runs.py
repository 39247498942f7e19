"""Pods of a run get the very places that they would get one by one, whatever happens between two of them."""

from __future__ import annotations

import random

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.cache import census
from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.interface import Handle
from replica.framework.status import PluginFailed
from replica.framework.waiting import WaitingPods
from replica.queue.nominator import Nominator
from tests.harness.clock import ManualClock
from tests.harness.framework import runtime_of, table_of
from tests.harness.neighbours import DrawnCrowd, affinity, near, neighbour
from tests.harness.objects import node

seeds = st.integers(0, 2**40)
ROOM = {"cpu": "8", "memory": "16Gi", "pods": 30}


class Both:
    """Two profiles alike over one table: one goes on with runs, the other places each pod by itself."""

    def __init__(self, table, *plugins, seed=1, namespaces=None):
        self.table, self.nominator, self.followed = table, Nominator(), 0
        self._handles = [
            Handle(
                ManualClock(),
                random.Random(seed),  # noqa: S311  # drawn tests, no secret
                WaitingPods(),
                listers={} if namespaces is None else {"Namespace": namespaces},
                nominator=self.nominator,
            )
            for _ in range(2)
        ]
        self.runs, self.alone = (runtime_of(*plugins, with_handle=each) for each in self._handles)
        follow = self.runs._evaluator._follow

        def counted(*args):
            found = follow(*args)
            self.followed += found is not None
            return found

        self.runs._evaluator._follow = counted

    def place(self, pod, *, sampled=False):
        """The node's name, checked; "" if there is none."""
        view = self.table.snapshot()
        of_runs, alone = self._handles
        alone.draw.setstate(of_runs.draw.getstate())
        self.alone._evaluator._run = None
        found, want = (each.place(CycleState(sampled=sampled), pod, view) for each in (self.runs, self.alone))
        assert of_runs.draw.getstate() == alone.draw.getstate()
        if isinstance(want, Diagnosis):
            assert (found.message, found.plugins, found.counts) == (want.message, want.plugins, want.counts)
            return ""
        assert found == want
        return found.node_name


def several(pod, count=4):
    return [
        msgspec.structs.replace(pod, name=f"{pod.name}{number}", uid=f"{pod.uid}-{number}") for number in range(count)
    ]


def zoned(number, **fields):
    labels = {"topology.kubernetes.io/zone": f"z{number % 3}", "kubernetes.io/hostname": f"n{number}"}
    return node(f"n{number}", **{"labels": labels, "allocatable": ROOM, **fields})


@pytest.fixture
def table():
    return table_of([zoned(number) for number in range(9)])


def fill(both, pods):
    for each in pods:
        name = both.place(each)
        if name:
            both.table.add_pod(name, each)


OWNED = {"owner": "r", "requests": {"cpu": "100m"}}


def test_those_that_follow_the_first_go_on_with_what_was_found(table):
    both = Both(table)
    fill(both, several(neighbour(**OWNED), 8))
    assert both.followed == 7


@pytest.mark.parametrize(
    "other",
    [
        {"owner": "s"},
        {"namespace": "y"},
        {"labels": {"app": "b"}},
        {"requests": {"cpu": "2"}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_one_that_differs_begins_another_run(table, other):
    both, one = Both(table), neighbour(labels={"app": "a"}, **OWNED)
    fill(both, several(one))
    assert both.followed == 3
    fill(both, several(neighbour(**{"labels": {"app": "a"}, **OWNED, **other})))
    assert both.followed == 6


@pytest.mark.parametrize(
    "change", [{"unschedulable": True}, {"allocatable": {"cpu": "64", "pods": 99}}, {"labels": {}}]
)
def test_a_node_that_changes_ends_it(table, change):
    both = Both(table)
    fill(both, several(neighbour(**OWNED)))
    table.set_node(zoned(4, **change))
    fill(both, several(neighbour(**OWNED), 3))
    # By domains nothing can be told any more where a node is in none.
    assert both.followed == 3 + 2 * ("labels" not in change)


def test_a_node_that_comes_ends_it(table):
    both = Both(table)
    fill(both, several(neighbour(**OWNED)))
    table.set_node(zoned(9))
    fill(both, several(neighbour(**OWNED), 1))
    assert both.followed == 3


def test_room_that_is_promised_in_the_middle_is_heeded(table):
    both = Both(table)
    fill(both, several(neighbour(**OWNED)))
    for number in range(8):
        both.nominator.nominate(neighbour(f"big{number}", requests={"cpu": "8"}), f"n{number}")
    assert both.place(neighbour(**OWNED)) == "n8"
    assert both.followed == 3


def test_pods_that_come_and_shun_them_are_minded():
    both = Both(table_of([zoned(number, unschedulable=number > 1) for number in range(16)]))
    pods = several(neighbour(labels={"app": "a"}, **OWNED))
    fill(both, pods[:3])
    shy = affinity(near("kubernetes.io/hostname", labelSelector={"matchLabels": {"app": "a"}}))
    both.table.add_pod("n0", neighbour("shy", affinity={"podAntiAffinity": shy}))
    both.table.add_pod("n1", neighbour("large", requests={"cpu": "6"}))
    assert both.place(pods[3]) == "n1"


def test_a_plan_given_up_in_between_is_made_anew(table, monkeypatch):
    monkeypatch.setattr(census, "KEPT", 4)
    both = Both(table)
    fill(both, several(neighbour(**OWNED)))
    others, mine = Both(table), several(neighbour(**OWNED), 12)[4:]
    for number, each in enumerate(mine):
        others.alone.place(CycleState(), neighbour(owner=f"other{number}"), table.snapshot())
        fill(both, [each])
    assert both.followed == 3 + len(mine)


class Plugin:
    """A filter of one test, by the pod's name if need be."""

    name = "Mine"

    def __init__(self):
        self.off, self.broken, self.seen = set(), False, 0

    def filter(self, state, pod, nodes):
        if self.broken:
            raise RuntimeError("burst")
        return np.array([name not in self.off for name in nodes.names])

    def explain(self, state, pod, nodes):
        return ()

    def signature(self, pod):
        return frozenset(self.off)


class Wider(Plugin):
    """Looks at something of all nodes, which it names."""

    def signature(self, pod):
        return ()

    def across(self, pod, nodes):
        return frozenset(self.off)


@pytest.mark.parametrize("kind", [Plugin, Wider])
def test_what_plugins_read_beside_is_asked_for_each(table, kind):
    plugin = kind()
    both = Both(table, plugin)
    fill(both, several(neighbour(**OWNED), 5))
    plugin.off = {f"n{number}" for number in range(8)}
    assert both.place(neighbour(**OWNED)) == "n8"


def test_a_plugin_that_breaks_in_the_middle_fails_one_pod(table):
    plugin = Plugin()
    both = Both(table, plugin)
    fill(both, several(neighbour(**OWNED), 4))
    plugin.broken = True
    with pytest.raises(PluginFailed, match="burst"):
        both.place(neighbour(**OWNED))
    plugin.broken = False
    before = both.followed
    fill(both, several(neighbour(**OWNED), 3))
    assert both.followed > before


def test_one_that_finds_no_node_any_more_is_told_why():
    both = Both(table_of([node("n0", allocatable={"cpu": "1", "pods": 9})]))
    fill(both, several(neighbour(requests={"cpu": "300m"}), 3))
    assert both.place(neighbour(requests={"cpu": "300m"})) == ""
    assert both.followed == 2


@settings(max_examples=60)
@given(seeds, st.booleans())
def test_runs_end_where_they_would_one_by_one(seed, whole):
    """Drawn kinds of pods, some at a time; between two of them something happens now and then."""
    crowd = DrawnCrowd(seed, whole=whole)
    both, draw = Both(crowd.table, seed=seed, namespaces=crowd.namespaces), crowd.draw
    for _ in range(6):
        kind = msgspec.structs.replace(crowd.ask(), deleting=False)
        for _ in range(draw.randrange(2, 9)):
            each = crowd.again(kind)
            name = both.place(each, sampled=draw.random() < 0.2)
            if name and draw.random() < 0.9:
                crowd.place(name, each)
            interrupt(draw, crowd, both, kind)


def interrupt(draw, crowd, both, kind):
    match draw.randrange(12):
        case 0:
            crowd.change(1)
        case 1:
            both.place(crowd.ask())
        case 2:
            promised = crowd.again(kind) if draw.random() < 0.5 else crowd.ask()
            both.nominator.nominate(promised, draw.choice(sorted(crowd.nodes)))
        case 3:
            for pods in both.nominator.all().values():
                both.nominator.forget(pods[0].path)
        case 4:
            both.table.snapshot()


def test_most_pods_of_runs_go_on_with_them():
    followed = placed = 0
    for seed in range(10):
        crowd = DrawnCrowd(seed, whole=True)
        both = Both(crowd.table, seed=seed, namespaces=crowd.namespaces)
        for _ in range(4):
            kind = msgspec.structs.replace(crowd.ask(), deleting=False)
            for each in several(kind, 8):
                name = both.place(each)
                if name:
                    placed += 1
                    crowd.place(name, each)
        followed += both.followed
    assert placed / 3 < followed < placed
