from __future__ import annotations

import pytest

from replica.assume import AssumedPods
from replica.cache.members import Members
from replica.cache.node_table import NodeTable
from replica.framework.waiting import WaitingPods
from replica.handlers import DELETED, Movers, NodeHandler, PodHandler
from replica.preemption.book import BudgetBook
from replica.queue.hints import ASSIGNED_POD_ADD, NODE_ADD, Hints
from replica.queue.scheduling import SchedulingQueue
from tests.harness.clock import ManualClock
from tests.harness.framework import runtime_of
from tests.harness.objects import node, pod


class Setting:
    def __init__(self, *plugins, without=()):
        self.runtime = runtime_of(*plugins, without=without)
        profiles = {self.runtime.scheduler_name: self.runtime}
        self.queue = SchedulingQueue(clock=ManualClock(), hints=Hints.of(self.runtime.registrations()))
        self.table = NodeTable()
        self.assumed = AssumedPods(self.table)
        self.waiting = WaitingPods()
        self.movers = Movers(self.queue, Members(), profiles)
        self.budgets = BudgetBook(lambda _namespace: ())
        self.pods = PodHandler(self.queue, self.assumed, self.waiting, profiles, self.movers, budgets=self.budgets)
        self.nodes = NodeHandler(self.table, self.movers)
        self.moved = []
        move_all = self.queue.move_all
        self.queue.move_all = lambda event, **about: (self.moved.append(str(event)), move_all(event, **about))
        self.nodes.on_add(node("a"), initial=True)
        self.moved.clear()

    @property
    def active(self):
        return self.queue.pending()["active"]

    @property
    def placed(self):
        return self.assumed.counts()[0]


@pytest.fixture
def at():
    return Setting()


P = pod("p", uid="u1", requests={"cpu": "1"})


def test_a_pod_without_a_node_waits_and_one_with_takes_room(at):
    at.pods.on_add(P, initial=True)
    at.pods.on_add(pod("q", node="a"), initial=True)
    assert (at.active, at.placed) == (1, 1)
    assert at.table.snapshot().requested[3].tolist() == [1]


def test_a_pod_that_got_its_node_leaves_the_queue(at):
    at.pods.on_add(P, initial=False)
    at.pods.on_update(P, P.on("a"))
    assert (at.active, at.placed) == (0, 1)


def test_a_pod_of_another_scheduler_takes_room_but_never_waits(at):
    theirs = pod("p", uid="u1", schedulerName="other")
    at.pods.on_add(theirs, initial=False)
    at.pods.on_update(theirs, pod("p", uid="u1", schedulerName="other", priority=5))
    assert at.active == 0
    at.pods.on_update(theirs, theirs.on("a"))
    assert at.placed == 1


def test_a_deleted_pod_is_nowhere(at):
    at.pods.on_add(P, initial=False)
    at.pods.on_delete(P, stale=False)
    assert at.active == 0
    at.assumed.assume(P, "a")
    at.pods.on_delete(P, stale=True)
    at.pods.on_add(P.on("a"), initial=False)
    at.pods.on_delete(P.on("a"), stale=False)
    assert at.assumed.counts() == (0, 0)
    assert not at.table.snapshot().requested.any()


def test_a_pod_created_anew_between_two_looks_is_another_pod(at):
    at.pods.on_add(P.on("a"), initial=False)
    again = pod("p", uid="u2", requests={"cpu": "3"})
    at.pods.on_update(P.on("a"), again)
    assert (at.active, at.placed) == (1, 0)
    at.pods.on_update(again, pod("p", uid="u3", node="a"))
    assert (at.active, at.placed) == (0, 1)


def test_a_pod_that_lost_its_node_waits_again(at):
    at.pods.on_add(P.on("a"), initial=False)
    at.pods.on_update(P.on("a"), P)
    assert (at.active, at.placed) == (1, 0)


def test_a_bound_pod_that_shrinks_frees_room_and_may_help_others(at):
    at.pods.on_add(P.on("a"), initial=False)
    at.moved.clear()
    small = pod("p", uid="u1", requests={"cpu": "500m"}, node="a")
    at.pods.on_update(P.on("a"), small)
    assert at.table.snapshot().requested[0].tolist() == [500]
    assert at.moved == ["AssignedPodUpdate"]


def test_a_freed_node_may_help(at):
    at.pods.on_add(P.on("a"), initial=False)
    at.moved.clear()
    at.pods.on_delete(P.on("a"), stale=False)
    assert at.moved == ["AssignedPodDelete"]


NEIGHBOURLY = ("PodTopologySpread", "InterPodAffinity")
"""Those who ask for binds."""


def test_binds_disturb_nobody_unless_a_plugin_asks_for_them():
    at = Setting(without=NEIGHBOURLY)
    at.pods.on_add(P.on("a"), initial=False)
    assert at.moved == []

    class AsksForAll:
        name = "AsksForAll"

        def filter(self, state, pod, nodes):
            return None

        def explain(self, state, pod, nodes):
            return ()

    other = Setting(AsksForAll(), without=NEIGHBOURLY)
    other.pods.on_add(P.on("a"), initial=False)
    assert other.moved == [str(ASSIGNED_POD_ADD)]


def test_nodes_come_change_and_go(at):
    at.nodes.on_add(node("b"), initial=False)
    assert at.moved == [str(NODE_ADD)]
    at.nodes.on_update(node("b"), node("b", unschedulable=True))
    view = at.table.snapshot()
    assert view.unschedulable[view.index["b"]]
    assert at.moved[1:] == ["NodeUpdate"]
    at.nodes.on_delete(node("b"), stale=False)
    assert at.table.snapshot().count == 1


def test_a_node_that_only_says_it_lives_changes_nothing(at):
    first = node("a")
    at.nodes.on_add(first, initial=False)
    before = at.table.snapshot().generation.copy()
    at.moved.clear()
    at.nodes.on_update(first, first.at(99, 0))
    assert at.moved == []
    assert (at.table.snapshot().generation == before).all()


def test_a_pod_deleted_while_it_waits_for_permission_is_called_off(at):
    gone, other, ends = pod("gone"), pod("other"), []
    for each in (gone, other):
        at.assumed.assume(each, "a")
        at.waiting.hold(each, "a", {"Mine": 1e9})
    at.waiting.resolved = lambda waiting, status: ends.append((waiting.pod.name, status.message))
    at.pods.on_delete(gone, stale=False)
    assert ends == [("gone", DELETED)]
    assert [waiting.pod.name for waiting in at.waiting.all()] == ["other"]
