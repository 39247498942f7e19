"""The delta FIFO: what each pop brings, as tables."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from component.clock import SystemClock
from replica.cache.delta_fifo import Batch, DeletedFinalStateUnknown, Delta, DeltaFIFO, DeltaType

ADDED, UPDATED, DELETED, REPLACED, SYNC = DeltaType
CLOCK = SystemClock()


def pop(fifo, most=100):
    return fifo.pop_batch(most, threading.Event(), 0, CLOCK)


def deltas(fifo, most=100):
    """Per key, (type, object) of each delta; a tombstone in brackets."""
    return {
        key: [
            (d.type, [d.object.object] if isinstance(d.object, DeletedFinalStateUnknown) else d.object) for d in found
        ]
        for key, found in pop(fifo, most).deltas
    }


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("add", "k", 1)], {"k": [(ADDED, 1)]}),
        ([("add", "k", 1), ("update", "k", 2)], {"k": [(ADDED, 1), (UPDATED, 2)]}),
        ([("add", "k", 1), ("add", "k", 2)], {"k": [(ADDED, 1), (UPDATED, 2)]}),
        ([("add", "k", 1), ("delete", "k")], {"k": [(ADDED, 1), (DELETED, 1)]}),
        ([("delete", "k")], {}),
        ([("add", "k", 1), ("delete", "k"), ("delete", "k")], {"k": [(ADDED, 1), (DELETED, 1)]}),
        ([("add", "k", 1), ("delete", "k"), ("add", "k", 2)], {"k": [(ADDED, 1), (DELETED, 1), (ADDED, 2)]}),
        ([("replace", {"k": 1})], {"k": [(REPLACED, 1)]}),
        ([("add", "k", 1), ("replace", {"k": 2})], {"k": [(ADDED, 1), (REPLACED, 2)]}),
        ([("add", "k", 1), ("replace", {})], {"k": [(ADDED, 1), (DELETED, [1])]}),
        ([("add", "k", 1), ("replace", {}), ("replace", {})], {"k": [(ADDED, 1), (DELETED, [1])]}),
        (
            [("add", "a", 1), ("add", "b", 1), ("replace", {"b": 2, "c": 3})],
            {"a": [(ADDED, 1), (DELETED, [1])], "b": [(ADDED, 1), (REPLACED, 2)], "c": [(REPLACED, 3)]},
        ),
        ([("add", "k", 1), ("pop",), ("resync",)], {"k": [(SYNC, 1)]}),
        ([("add", "k", 1), ("resync",)], {"k": [(ADDED, 1)]}),
        ([("add", "k", 1), ("pop",), ("delete", "k"), ("resync",)], {"k": [(DELETED, 1)]}),
    ],
)
def test_deltas(steps, expected):
    fifo = DeltaFIFO()
    for name, *arguments in steps:
        if name == "pop":
            pop(fifo)
        elif name == "replace":
            fifo.replace(*arguments, 9)
        else:
            getattr(fifo, name)(*arguments)
    assert deltas(fifo) == expected


def test_of_two_deletions_the_one_that_saw_the_end_stays():
    fifo = DeltaFIFO()
    fifo.add("k", 1)
    pop(fifo)
    fifo.replace({}, 9)
    fifo._put("k", Delta(DELETED, 2))
    assert deltas(fifo) == {"k": [(DELETED, 2)]}
    fifo._put("k", Delta(DELETED, 2))
    fifo._put("k", Delta(DELETED, DeletedFinalStateUnknown(1)))
    assert deltas(fifo) == {"k": [(DELETED, 2)]}


def test_keys_come_out_in_the_order_in_which_they_came_in():
    fifo = DeltaFIFO()
    for key in "bca":
        fifo.add(key, 1)
    fifo.add("b", 2)
    assert list(deltas(fifo, 2)) == ["b", "c"]
    assert list(deltas(fifo, 2)) == ["a"]


def test_newest_is_the_putting_sides_view():
    fifo = DeltaFIFO()
    assert fifo.newest("k") is None
    fifo.add("k", 1)
    fifo.add("k", 2)
    assert fifo.newest("k") == 2
    fifo.delete("k")
    assert fifo.newest("k") is None
    fifo.replace({"k": 3}, 9)
    assert fifo.newest("k") == 3


# --- markers


def test_a_marker_comes_with_the_last_of_what_was_before_it():
    fifo = DeltaFIFO()
    for key in "abc":
        fifo.add(key, 1)
    assert not fifo.mark(7)
    fifo.add("d", 1)
    assert pop(fifo, 2).revision is None
    last = pop(fifo, 1)
    assert ([key for key, _ in last.deltas], last.revision) == (["c"], 7)
    assert pop(fifo).revision is None


def test_a_change_after_the_marker_that_travels_early_does_not_move_the_marker():
    fifo = DeltaFIFO()
    fifo.add("a", 1)
    fifo.mark(7)
    fifo.add("a", 2)
    assert deltas(fifo) == {"a": [(ADDED, 1), (UPDATED, 2)]}
    assert pop(fifo) == Batch()


def test_markers_in_a_row_are_one_and_a_batch_has_the_last():
    fifo = DeltaFIFO()
    fifo.add("a", 1)
    fifo.mark(7)
    fifo.mark(8)
    fifo.add("b", 1)
    fifo.mark(9)
    assert pop(fifo).revision == 9


def test_a_marker_passes_at_once_only_when_all_before_it_is_applied():
    fifo = DeltaFIFO()
    assert not fifo.mark(5)  # nobody has asked yet: there is no consumer at rest
    assert pop(fifo).revision == 5
    assert not fifo.mark(6)  # what was popped may not be applied yet
    assert pop(fifo).revision == 6
    assert pop(fifo) == Batch()  # asking again says that it is
    assert fifo.mark(7)
    fifo.add("a", 1)
    assert not fifo.mark(8)
    assert pop(fifo).revision == 8
    assert not fifo.mark(9)


def test_it_has_synced_when_the_first_list_is_popped_whole():
    fifo = DeltaFIFO()
    fifo.mark(3)
    pop(fifo)
    assert not fifo.has_synced
    fifo.replace({"a": 1, "b": 1}, 7)
    fifo.mark(7)
    pop(fifo, 1)
    assert not fifo.has_synced
    pop(fifo, 1)
    assert fifo.has_synced
    fifo.replace({"a": 1, "b": 1}, 9)
    assert fifo.has_synced


def test_an_empty_list_syncs_too():
    fifo = DeltaFIFO()
    pop(fifo)
    fifo.replace({}, 7)
    assert fifo.mark(7)
    assert fifo.has_synced


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("abc")),
        st.tuples(st.just("delete"), st.sampled_from("abc")),
        st.tuples(st.just("replace"), st.sets(st.sampled_from("abc"))),
        st.tuples(st.just("mark")),
        st.tuples(st.just("pop"), st.integers(1, 3)),
    ),
    max_size=60,
)


class Consumer:
    """Applies what it pops, and knows what the keys were after each step."""

    def __init__(self):
        self.fifo = DeltaFIFO()
        self.held = {}
        self.states = [{}]

    def put(self, name, *arguments):
        state, number = dict(self.states[-1]), len(self.states)
        if name == "add":
            state[arguments[0]] = number
            self.fifo.add(arguments[0], number)
        elif name == "delete":
            state.pop(arguments[0], None)
            self.fifo.delete(arguments[0])
        else:
            state = dict.fromkeys(arguments[0], number)
            self.fifo.replace(state, number)
        self.states.append(state)

    def pop(self, most):
        batch = pop(self.fifo, most)
        for key, found in batch.deltas:
            for delta in found:
                if delta.type is DELETED:
                    self.held.pop(key, None)
                else:
                    self.held[key] = delta.object
        return batch.revision

    def has_seen(self, number):
        """Is each key as it was after that step, or after a later one?"""
        return all(any(state.get(key) == self.held.get(key) for state in self.states[number:]) for key in "abc")


@given(steps)
def test_whoever_has_a_marker_has_seen_all_that_was_before_it(script):
    consumer = Consumer()
    for name, *arguments in script:
        if name == "mark":
            now = len(consumer.states) - 1
            passed = now if consumer.fifo.mark(now) else None
        elif name == "pop":
            passed = consumer.pop(*arguments)
        else:
            passed = consumer.put(name, *arguments)
        assert passed is None or consumer.has_seen(passed)
    while len(consumer.fifo):
        consumer.pop(3)
    assert consumer.held == consumer.states[-1]


class Plain:
    """The same by the book: a list of what happened to each key since it was popped."""

    def __init__(self):
        self.waiting = {}
        self.known = {}

    def note(self, key, kind, obj):
        found = self.waiting.setdefault(key, [])
        if kind is DELETED and found and found[-1][0] is DELETED:
            if isinstance(found[-1][1], DeletedFinalStateUnknown):
                found[-1] = (kind, obj)
            return
        found.append((kind, obj))

    def add(self, key, obj):
        self.note(key, UPDATED if key in self.known else ADDED, obj)
        self.known[key] = obj

    def delete(self, key):
        if key in self.known:
            self.note(key, DELETED, self.known.pop(key))

    def replace(self, objects):
        for key in [key for key in self.known if key not in objects]:
            self.note(key, DELETED, DeletedFinalStateUnknown(self.known[key]))
        for key, obj in objects.items():
            self.note(key, REPLACED, obj)
        self.known = dict(objects)

    def resync(self):
        for key, obj in self.known.items():
            if key not in self.waiting:
                self.note(key, SYNC, obj)

    def pop(self, most):
        keys = list(self.waiting)[:most]
        return [(key, [tuple(delta) for delta in self.waiting.pop(key)]) for key in keys]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.sampled_from("abc")),
            st.tuples(st.just("delete"), st.sampled_from("abc")),
            st.tuples(st.just("replace"), st.frozensets(st.sampled_from("abc"))),
            st.tuples(st.just("resync")),
            st.tuples(st.just("mark")),
            st.tuples(st.just("pop"), st.integers(1, 3)),
        ),
        max_size=60,
    )
)
def test_it_agrees_with_a_plain_model(script):
    fifo, plain = DeltaFIFO(), Plain()
    for number, (name, *arguments) in enumerate(script):
        if name == "add":
            fifo.add(arguments[0], number)
            plain.add(arguments[0], number)
        elif name == "delete":
            fifo.delete(arguments[0])
            plain.delete(arguments[0])
        elif name == "replace":
            objects = dict.fromkeys(sorted(arguments[0]), number)
            fifo.replace(objects, number)
            plain.replace(objects)
        elif name == "resync":
            fifo.resync()
            plain.resync()
        elif name == "mark":
            fifo.mark(number)
        else:
            popped = [(key, [(d.type, d.object) for d in found]) for key, found in pop(fifo, *arguments).deltas]
            assert popped == plain.pop(*arguments)
        assert len(fifo) == len(plain.waiting)
        assert fifo.all_newest() == plain.known


# --- waiting


@pytest.mark.parametrize("how", ["add", "mark", "replace", "close", "stop"])
def test_a_waiting_consumer_is_woken(how):
    fifo, stop, got = DeltaFIFO(), threading.Event(), []
    consumer = threading.Thread(target=lambda: got.append(fifo.pop_batch(9, stop, 60, CLOCK)))
    consumer.start()
    if how == "add":
        fifo.add("a", 1)
    elif how == "replace":
        fifo.replace({"a": 1}, 7)
    elif how == "mark":
        fifo.add("a", 1)
        fifo.mark(7)
    elif how == "close":
        fifo.close()
    else:
        stop.set()
    consumer.join(30)
    assert bool(got[0].deltas) == (how in {"add", "mark", "replace"})


def test_what_waits_at_close_can_still_be_popped():
    fifo = DeltaFIFO()
    fifo.add("a", 1)
    fifo.close()
    assert not fifo.closed
    assert pop(fifo).deltas
    assert fifo.closed
