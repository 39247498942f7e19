"""The work queue and its rate limits, on a clock that stands still."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.queue.ratelimit import Bucket, ItemBackoff, Slowest
from replica.queue.work import WorkQueue
from tests.harness.clock import ManualClock

STOP = threading.Event()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def queue(clock):
    return WorkQueue("test", clock=clock)


def get(queue):
    return queue.get(STOP, 0)


def drain(queue):
    got = []
    while (key := get(queue)) is not None:
        queue.done(key)
        got.append(key)
    return got


def test_a_key_is_in_it_once_in_the_order_it_came_first(queue):
    for key in "abacab":
        queue.add(key)
    assert len(queue) == 3
    assert drain(queue) == ["a", "b", "c"]


def test_a_key_asked_for_during_its_work_comes_back_once_after_it(queue):
    queue.add("a")
    assert get(queue) == "a"
    queue.add("a")
    queue.add("a")
    assert get(queue) is None
    queue.done("a")
    assert drain(queue) == ["a"]


def test_a_key_that_is_done_does_not_come_back_by_itself(queue):
    queue.add("a")
    queue.done(get(queue))
    assert get(queue) is None


def test_a_later_key_comes_when_it_is_time(queue, clock):
    queue.add_after("late", 5)
    queue.add_after("soon", 1)
    queue.add_after("now", 0)
    assert drain(queue) == ["now"]
    clock.advance(1)
    assert drain(queue) == ["soon"]
    clock.advance(4)
    assert drain(queue) == ["late"]


def test_the_earliest_of_several_wishes_counts(queue, clock):
    queue.add_after("a", 5)
    queue.add_after("a", 2)
    queue.add_after("a", 9)
    clock.advance(2)
    assert drain(queue) == ["a"]
    clock.advance(10)
    assert drain(queue) == []


def test_failures_double_a_keys_delay_until_it_is_forgotten(queue, clock):
    waits = []
    for _ in range(4):
        queue.add_rate_limited("a")
        before = clock.now()
        while (key := get(queue)) is None:
            clock.advance(0.005)
        queue.done(key)
        waits.append(round(clock.now() - before, 3))
    assert waits == [0.005, 0.01, 0.02, 0.04]
    assert queue.retries("a") == 4
    queue.forget("a")
    assert queue.retries("a") == 0


def test_shut_down_takes_nothing_more_and_gives_what_is_there(queue):
    queue.add("a")
    queue.shut_down()
    queue.add("b")
    queue.add_after("c", 1)
    assert queue.get(STOP, 1e9) == "a"
    assert queue.get(STOP, 1e9) is None


def test_draining_waits_for_work_in_progress(queue):
    queue.add("a")
    key = get(queue)
    assert not queue.drain(STOP, 0)
    results = []
    waiter = threading.Thread(target=lambda: results.append(queue.drain(STOP, 1e9)))
    waiter.start()
    queue.done(key)
    waiter.join(30)
    assert results == [True]


def test_a_worker_that_waits_is_woken(queue):
    got = []
    worker = threading.Thread(target=lambda: got.append(queue.get(STOP, 1e9)))
    worker.start()
    queue.add("a")
    worker.join(30)
    assert got == ["a"]


def test_a_stopped_worker_gets_nothing(queue):
    stop = threading.Event()
    stop.set()
    queue.add("a")
    assert queue.get(stop, 1e9) is None


def test_it_knows_how_long_work_takes(queue, clock):
    queue.add("a")
    queue.add("b")
    key = get(queue)
    clock.advance(3)
    assert queue.ages() == (3,)
    queue.done(key)
    assert queue.ages() == ()


@given(st.lists(st.tuples(st.sampled_from(["add", "get", "done"]), st.sampled_from("abc"))))
def test_no_two_workers_have_a_key_and_no_wish_is_lost(script):
    queue = WorkQueue("test", clock=ManualClock())
    working, wanted = set(), set()
    for step, key in script:
        if step == "add":
            queue.add(key)
            wanted.add(key)
        elif step == "done" and key in working:
            queue.done(key)
            working.discard(key)
        elif step == "get" and (got := get(queue)) is not None:
            assert got not in working
            working.add(got)
            wanted.discard(got)
    for key in working:
        queue.done(key)
    assert set(drain(queue)) == wanted


# --- rate limits


def test_a_bucket_lets_a_burst_through_and_then_its_rate():
    bucket = Bucket(rate=10, burst=3)
    assert [bucket.when("k", 0.0) for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])
    assert bucket.when("k", 100.0) == 0
    assert [bucket.when("k", 100.0) for _ in range(3)] == pytest.approx([0, 0, 0.1])


def test_an_items_backoff_has_a_maximum():
    limiter = ItemBackoff(initial=1, maximum=4)
    assert [limiter.when("a", 0) for _ in range(4)] == [1, 2, 4, 4]
    assert limiter.when("b", 0) == 1


def test_of_several_limits_the_slowest_counts():
    limiter = Slowest(ItemBackoff(initial=1, maximum=4), Bucket(rate=0.1, burst=1))
    assert [limiter.when("a", 0), limiter.when("a", 0)] == [1, 10]
    assert limiter.retries("a") == 2
    limiter.forget("a")
    assert limiter.retries("a") == 0
    assert Slowest().when("a", 0) == 0
