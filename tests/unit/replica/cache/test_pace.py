"""Steps are at once at first and after a rest, and spaced when there are many."""

from __future__ import annotations

import pytest

from replica.cache.pace import Pace


def test_the_first_steps_and_those_after_a_rest_do_not_wait():
    pace = Pace(burst=3, interval=1.0)
    for start in (0.0, 100.0):
        assert [pace.delay(start) for _ in range(3)] == [0, 0, 0]
        assert pace.delay(start) > 0


@pytest.mark.parametrize("gap", [0.0, 0.1, 0.9])
def test_under_load_steps_keep_their_interval(gap):
    pace, now, taken = Pace(burst=3, interval=1.0), 0.0, []
    for _ in range(50):
        now += pace.delay(now)
        taken.append(now)
        now += gap
    assert (taken[-1] - taken[-21]) / 20 == pytest.approx(1.0, rel=0.1)


def test_steps_that_are_rare_never_wait():
    pace = Pace(burst=3, interval=1.0)
    assert [pace.delay(float(now)) for now in range(100)] == [0] * 100
