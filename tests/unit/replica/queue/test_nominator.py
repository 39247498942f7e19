"""Promises of room on a node."""

from __future__ import annotations

import pytest

from replica.api.pods import Pod
from replica.queue.nominator import Nominator
from replica.queue.scheduling import SchedulingQueue
from tests.harness.clock import ManualClock


def pod(name, *, nominated="", revision=1, uid=""):
    return Pod(name=name, namespace="n", uid=uid or name, mod_revision=revision, nominated=nominated)


@pytest.fixture
def nominator():
    return Nominator()


def test_a_pod_is_promised_one_node_at_a_time(nominator):
    nominator.nominate(pod("a"), "x")
    nominator.nominate(pod("b"), "x")
    nominator.nominate(pod("a"), "y")
    assert [promised.name for promised in nominator.promised("x")] == ["b"]
    assert [promised.name for promised in nominator.promised("y")] == ["a"]
    assert (nominator.node_of("n/a"), nominator.node_of("n/c")) == ("y", "")
    nominator.nominate(pod("a"), "")
    nominator.forget("n/b")
    nominator.forget("n/c")
    assert (len(nominator), nominator.promised("x"), nominator.promised("y")) == (0, (), ())


def test_a_promise_not_yet_in_the_status_survives_other_changes_and_shows_the_newest_pod(nominator):
    nominator.nominate(pod("a"), "x")
    nominator.see(pod("a"), pod("a", revision=2))
    assert [promised.mod_revision for promised in nominator.promised("x")] == [2]
    nominator.see(pod("a", revision=2), pod("a", revision=3, nominated="x"))
    assert nominator.node_of("n/a") == "x"
    nominator.see(pod("a", revision=3, nominated="x"), pod("a", revision=4))
    assert nominator.node_of("n/a") == ""


def test_a_successor_learns_promises_from_the_pods(nominator):
    queue = SchedulingQueue(clock=ManualClock(), nominator=nominator)
    queue.add(pod("a", nominated="x"))
    assert nominator.node_of("n/a") == "x"
    queue.update(pod("a", nominated="x"), pod("a", nominated="y", revision=2))
    assert nominator.node_of("n/a") == "y"
    queue.delete("n/a")
    assert len(nominator) == 0


def test_a_pod_in_flight_keeps_its_promise_and_a_namesake_has_none(nominator):
    queue = SchedulingQueue(clock=ManualClock(), nominator=nominator)
    queue.add(pod("a"))
    queue.nominator.nominate(pod("a"), "x")
    queue.update(pod("a"), pod("a", revision=2))
    assert nominator.node_of("n/a") == "x"
    queue.delete("n/a")
    queue.add(pod("a", uid="another"))
    assert nominator.node_of("n/a") == ""
