from __future__ import annotations

import threading

import pytest

from replica.app.reporting import Report
from tests.harness.clock import ManualClock


class Manager:
    """A notifier that keeps what it is told."""

    def __init__(self, watchdog=None):
        self.watchdog = watchdog
        self.told = []

    def tell(self, *words):
        self.told.extend(words)


class Standing:
    """A replica as its report sees it, and the report."""

    def __init__(self, watchdog=None):
        self.unready = self.unwell = None
        self.leads = False
        self.leader = "b"
        self.clock = ManualClock()
        self.manager = Manager(watchdog)
        self.report = Report(
            self.manager,
            unready=lambda: self.unready,
            unwell=lambda: self.unwell,
            leads=lambda: self.leads,
            leader=lambda: self.leader,
            clock=self.clock,
        )

    def news(self):
        return self.report.news()


@pytest.fixture
def standing():
    return Standing()


def test_ready_is_told_once_and_only_when_it_is(standing):
    standing.unready = "etcd does not answer"
    assert standing.news() == ["STATUS=not ready: etcd does not answer"]
    standing.unready = None
    assert standing.news() == ["READY=1", "STATUS=stands by, b leads"]
    standing.unready = "etcd does not answer"
    assert standing.news() == ["STATUS=not ready: etcd does not answer"]
    standing.unready = None
    assert standing.news() == ["STATUS=stands by, b leads"]


def test_transitions_are_told_and_nothing_else(standing):
    assert standing.news() == ["READY=1", "STATUS=stands by, b leads"]
    assert standing.news() == []
    standing.leader = ""
    assert standing.news() == ["STATUS=stands by, nobody leads"]
    standing.leads = True
    assert standing.news() == ["STATUS=leads"]
    standing.unready = "caches are behind"
    assert standing.news() == ["STATUS=leads, not ready: caches are behind"]


def test_signs_of_life_come_three_times_as_often_as_they_are_wanted():
    standing = Standing(watchdog=30.0)
    assert "WATCHDOG=1" in standing.news()
    standing.clock.advance(9.9)
    assert standing.news() == []
    standing.clock.advance(0.1)
    assert standing.news() == ["WATCHDOG=1"]


def test_an_unwell_replica_gives_none_and_an_unready_one_does():
    standing = Standing(watchdog=30.0)
    standing.unwell = "no renewal for 35 s"
    assert "WATCHDOG=1" not in standing.news()
    standing.unwell, standing.unready = None, "etcd does not answer"
    assert "WATCHDOG=1" in standing.news()


def test_without_a_watchdog_there_are_no_signs(standing):
    assert "WATCHDOG=1" not in standing.news()


def test_its_end_is_told(standing):
    stop = threading.Event()
    stop.set()
    standing.report.run(stop)
    assert standing.manager.told == ["STOPPING=1", "STATUS=stopping"]
