from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from component.backoff import Backoff


def test_doubles_up_to_the_maximum():
    backoff = Backoff(initial=1.0, maximum=10.0)
    assert [backoff.delay(attempt) for attempt in range(6)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_jitter_stretches_by_the_number_drawn():
    backoff = Backoff(initial=1.0, maximum=4.0, jitter=0.5)
    assert backoff.delay(0, draw=0.0) == 1.0
    assert backoff.delay(0, draw=1.0) == 1.5
    assert backoff.delay(9, draw=0.5) == 5.0


def test_no_attempt_overflows():
    assert Backoff(initial=0.1, maximum=30.0).delay(10**6) == 30.0
    assert Backoff(initial=0.1, maximum=30.0).delay(-3) == 0.1


@given(st.integers(0, 2000), st.floats(0, 1))
def test_never_shrinks_and_never_exceeds(attempt, draw):
    backoff = Backoff(initial=0.05, factor=1.7, maximum=12.0, jitter=0.2)
    assert backoff.delay(attempt, draw) <= backoff.delay(attempt + 1, draw) <= 12.0 * 1.2


def test_reports_every_problem_at_once():
    with pytest.raises(ValueError, match=r"initial.*maximum.*factor.*jitter"):
        Backoff(initial=0.0, maximum=-1.0, factor=0.5, jitter=-1.0)
