from __future__ import annotations

import threading

import pytest

from component.clock import SystemClock
from tests.harness.clock import ManualClock
from tests.harness.wait import eventually


def test_the_system_clock_counts_on_and_honours_a_stop():
    clock, stop = SystemClock(), threading.Event()
    before = clock.now()
    assert clock.wait(stop, 0.01) is False
    assert clock.now() - before >= 0.01
    stop.set()
    assert clock.wait(stop, 3600.0) is True


def test_a_manual_clock_wakes_its_waiters_when_moved():
    clock, stop, woken = ManualClock(start=10.0), threading.Event(), []
    waiter = threading.Thread(target=lambda: woken.append(clock.wait(stop, 5.0)), daemon=True)
    waiter.start()
    eventually(lambda: clock.waits == (15.0,), within=5)
    clock.advance(4.0)
    assert woken == []
    clock.advance(1.0)
    waiter.join(5)
    assert woken == [False]
    assert clock.waits == ()


def test_a_manual_clock_honours_a_stop():
    clock, stop = ManualClock(), threading.Event()
    stop.set()
    assert clock.wait(stop, 5.0) is True


def test_a_manual_clock_does_not_go_back():
    with pytest.raises(ValueError, match="does not go back"):
        ManualClock(start=10.0).set(9.0)


def test_eventually_says_what_did_not_happen():
    with pytest.raises(AssertionError, match="the lease is held; the last result was 0"):
        eventually(lambda: 0, within=0.02, what="the lease is held")
