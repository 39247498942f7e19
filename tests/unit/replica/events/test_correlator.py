"""Events that say the same are one: written at once, then as a series now and then, and a last time."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from replica.api.events import Event, Reference
from replica.events.correlator import MOST, REFRESH, SILENCE, Correlator, likeness

POD = Reference(kind="Pod", namespace="shop", name="a", uid="uid-a", api_version="v1", resource_version="7")
EVENT = Event(
    name="",
    namespace="shop",
    regarding=POD,
    reason="FailedScheduling",
    action="Scheduling",
    note="0/1 nodes are available",
    controller="default-scheduler",
    instance="host_1",
    time="2026-01-01T00:00:00Z",
)


def event(**changes):
    return replace(EVENT, **changes)


class Book:
    """A correlator beside the counts that a store would hold."""

    def __init__(self, **bounds):
        self.correlator = Correlator(**bounds)
        self.stored = {}
        """Count by entry."""
        self.revision = 0

    def see(self, *events, now=0.0):
        return self.write(self.correlator.see(events, now), now)

    def due(self, now):
        return self.write(self.correlator.due(now), now)

    def write(self, entries, now):
        assert len({id(entry) for entry in entries}) == len(entries), "two writes of a key don't go in one transaction"
        for entry in entries:
            self.revision += 1
            self.correlator.stored(entry, self.revision, now)
            self.stored[id(entry)] = (entry, entry.event.count)
        return [entry.event.count for entry in entries]


@pytest.fixture
def book():
    return Book()


def test_the_first_is_created_the_second_makes_it_a_series_and_the_third_waits(book):
    assert book.see(event()) == [1]
    assert book.see(event(time="2026-01-01T00:00:05Z"), now=5) == [2]
    assert book.see(event(time="2026-01-01T00:00:09Z"), now=9) == []
    assert book.due(5 + REFRESH - 0.1) == []
    assert book.see(event(time="2026-01-01T00:06:00Z"), now=360) == []
    assert book.due(5 + REFRESH) == [4]
    ((entry, _),) = book.stored.values()
    assert (entry.event.series.count, entry.event.series.last_observed_time) == (4, "2026-01-01T00:06:00Z")
    assert entry.event.time == "2026-01-01T00:00:00Z"


def test_a_series_is_refreshed_while_it_is_alive_and_finished_after_silence(book):
    for second in range(0, 1000, 10):
        book.see(event(), now=second)
        if second % 100 == 0:
            book.due(second)
    ((entry, count),) = book.stored.values()
    assert count == 81  # it became one at 10; looks come each 100, so at 400 and at 800
    assert book.due(990 + SILENCE - 1) == [100]
    assert book.due(990 + SILENCE) == []
    assert len(book.correlator) == 0
    assert entry.told == 100
    assert book.see(event(), now=2000) == [1], "the next one begins anew"
    assert len(book.stored) == 2


def test_the_final_count_of_a_series_is_written_and_then_forgotten(book):
    book.see(event())
    book.see(event(), now=100)
    book.see(event(), now=101)
    assert book.due(101 + SILENCE) == [3]
    assert len(book.correlator) == 0
    assert book.due(10_000) == []


def test_an_event_that_came_once_is_forgotten_without_a_write(book):
    book.see(event())
    assert book.due(SILENCE - 0.1) == []
    assert len(book.correlator) == 1
    assert book.due(SILENCE) == []
    assert len(book.correlator) == 0


def test_what_comes_in_one_batch_is_one_write_with_its_count(book):
    assert book.see(event(), event(), event(reason="Other"), event()) == [3, 1]


@pytest.mark.parametrize(
    "changes",
    [
        {"action": "Binding"},
        {"reason": "Preempted"},
        {"controller": "another"},
        {"regarding": replace(POD, uid="uid-b")},
        {"regarding": replace(POD, name="b")},
        {"regarding": replace(POD, namespace="n")},
        {"regarding": replace(POD, kind="Node")},
        {"related": Reference(kind="Node", name="n1")},
    ],
)
def test_what_differs_in_what_it_is_about_is_another_event(book, changes):
    assert book.see(event(), event(**changes)) == [1, 1]


@pytest.mark.parametrize(
    "changes",
    [{"note": "other words"}, {"regarding": replace(POD, resource_version="8")}, {"instance": "x"}, {"time": "later"}],
)
def test_what_differs_in_the_rest_is_the_same(book, changes):
    assert likeness(event()) == likeness(event(**changes))
    assert book.see(event(), event(**changes)) == [2]


def test_a_series_has_the_newest_note(book):
    book.see(event(note="old"))
    book.see(event(note="new"))
    ((entry, _),) = book.stored.values()
    assert entry.event.note == "new"


def test_what_happens_once_is_not_remembered(book):
    assert book.see(event(reason="Scheduled"), event(reason="Scheduled")) == [1, 1]
    assert len(book.correlator) == 0


def test_one_that_could_not_be_written_begins_anew(book):
    (entry,) = book.correlator.see([event()], 0.0)
    book.correlator.lost(entry)
    assert len(book.correlator) == 0
    assert book.see(event()) == [1]


def test_a_series_that_could_not_be_written_again_is_tried_at_the_next_refresh(book):
    book.see(event())
    (entry,) = book.correlator.see([event()], 1.0)
    book.correlator.lost(entry)
    assert book.see(event(), now=2) == []
    assert len(book.correlator) == 1
    assert book.due(2 + SILENCE) == [3]


def test_one_that_is_gone_is_made_anew_with_its_count(book):
    book.see(event())
    (entry,) = book.correlator.see([event()], 1.0)
    entry.event = replace(entry.event, name="41-1")
    book.correlator.gone(entry)
    assert (entry.revision, entry.event.name, entry.event.count) == (0, "", 2)


def test_beyond_its_bound_the_longest_silent_is_forgotten_and_its_count_is_told():
    book = Book(most=2)
    first, second, third = (event(reason=reason) for reason in "abc")
    book.see(first)
    book.see(first)
    book.see(first)
    book.see(second)
    book.see(third)
    assert len(book.correlator) == 2
    assert book.due(0.0) == [3]
    assert book.see(first) == [1]
    assert len(book.correlator) == 2


def test_memory_is_bounded(book):
    for number in range(MOST + 100):
        book.see(event(reason=str(number)))
    assert len(book.correlator) == MOST
    assert book.due(SILENCE) == []
    assert len(book.correlator) == 0


steps = st.lists(
    st.one_of(
        st.tuples(st.just("see"), st.lists(st.sampled_from("abcd"), min_size=1, max_size=5)),
        st.tuples(st.just("pass"), st.sampled_from([1.0, 50.0, 200.0, 361.0])),
    ),
    max_size=60,
)


@given(steps, st.sampled_from([2, 100]))
def test_in_the_end_every_event_is_counted_once(script, most):
    book = Book(most=most)
    now, seen = 0.0, Counter()
    for step, argument in script:
        if step == "see":
            seen.update(argument)
            book.see(*(event(reason=reason) for reason in argument), now=now)
        else:
            now += argument
            book.due(now)
        for entry, count in book.stored.values():
            # At most what came within the refresh's time and a look is not told yet.
            assert count == entry.told <= entry.event.count
    book.due(now + SILENCE)
    counted = Counter()
    for entry, count in book.stored.values():
        counted[entry.event.reason] += count
    assert counted == seen
    assert len(book.correlator) == 0
