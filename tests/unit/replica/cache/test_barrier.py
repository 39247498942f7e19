"""The barrier opens when all its consumers have passed, and not before."""

from __future__ import annotations

import threading

import pytest

from replica.cache.barrier import Barrier
from tests.harness.wait import eventually


def opened(barrier, revision):
    return barrier.wait(revision, threading.Event(), 0)


def test_it_opens_when_the_last_one_passes():
    barrier = Barrier()
    first, second = barrier.join("first"), barrier.join("second")
    first.passed(9)
    assert not opened(barrier, 7)
    second.passed(6)
    assert not opened(barrier, 7)
    assert barrier.behind(7) == {"second": 6}
    second.passed(7)
    assert opened(barrier, 7)
    assert not opened(barrier, 8)
    assert barrier.applied == 7


def test_an_older_revision_takes_nothing_back():
    barrier = Barrier()
    consumer = barrier.join("only")
    consumer.passed(9)
    consumer.passed(5)
    assert barrier.applied == 9


def test_with_nobody_to_ask_it_stays_shut():
    assert not opened(Barrier(), 0)


def test_one_that_leaves_is_not_waited_for():
    barrier = Barrier()
    barrier.join("here").passed(9)
    gone = barrier.join("gone")
    assert not opened(barrier, 9)
    gone.leave()
    assert opened(barrier, 9)


def test_one_that_joins_is():
    barrier = Barrier()
    barrier.join("here").passed(9)
    assert opened(barrier, 9)
    barrier.join("late")
    assert not opened(barrier, 9)


@pytest.mark.parametrize("how", ["pass", "leave", "stop"])
def test_a_waiter_is_woken(how):
    barrier, stop, results = Barrier(), threading.Event(), []
    barrier.join("quick").passed(9)
    slow = barrier.join("slow")
    waiter = threading.Thread(target=lambda: results.append(barrier.wait(9, stop, 60)))
    waiter.start()
    eventually(lambda: barrier._waiting, within=10)
    {"pass": lambda: slow.passed(9), "leave": slow.leave, "stop": stop.set}[how]()
    waiter.join(30)
    assert results == [how != "stop"]


def test_it_gives_up_at_the_timeout():
    barrier = Barrier()
    barrier.join("never")
    assert not barrier.wait(1, threading.Event(), 0.01)
