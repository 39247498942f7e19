from __future__ import annotations

import pytest

from replica.cache.lag import LIMIT, WatchLag
from tests.harness.clock import ManualClock


class At:
    def __init__(self):
        self.clock = ManualClock()
        self.applied = 5
        self.lag = WatchLag(lambda: self.applied, self.clock)


@pytest.fixture
def at():
    return At()


def test_caches_that_have_all_that_is_known_are_not_behind(at):
    assert at.lag.seconds() == 0.0
    at.lag.committed(5)
    at.clock.advance(10)
    assert at.lag.seconds() == 0.0


def test_the_lag_counts_from_the_first_change_that_they_lack(at):
    at.lag.committed(7)
    at.clock.advance(2)
    at.lag.committed(9)
    at.clock.advance(1)
    assert at.lag.seconds() == 3.0
    at.applied = 8
    assert at.lag.seconds() == 1.0
    at.applied = 9
    assert at.lag.seconds() == 0.0


def test_what_is_heard_again_or_late_changes_nothing(at):
    at.lag.committed(7)
    at.clock.advance(2)
    at.lag.committed(7)
    at.lag.committed(6)
    at.applied = 7
    assert at.lag.seconds() == 0.0


def test_caches_that_are_still_empty_lack_nothing(at):
    at.applied = 0
    at.lag.committed(7)
    at.clock.advance(100)
    assert at.lag.seconds() == 0.0


def test_caches_that_stand_still_cost_no_more_memory_with_time(at):
    for revision in range(6, 3 * LIMIT):
        at.lag.committed(revision)
    at.clock.advance(1)
    assert at.lag.seconds() == 1.0
    assert len(at.lag._missing) == LIMIT
