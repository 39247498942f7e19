"""The shared informer: what its indexer holds and what its listeners are told."""

from __future__ import annotations

import threading

import pytest

from component.lifecycle import Group
from lockd.etcd.model import WatchEvent
from lockd.ports import KeyValue
from replica.api.codec import decode_pod
from replica.api.kinds import POD
from replica.cache.barrier import Barrier
from replica.cache.informer import SharedInformer
from replica.cache.listener import Filtered, Handlers
from tests.harness.clock import ManualClock
from tests.harness.stored import PREFIX, pod_key, pod_value
from tests.harness.wait import eventually


class Record:
    """A handler that notes what it is told."""

    def __init__(self):
        self.told = []

    def on_add(self, obj, *, initial):
        self.told.append(("add", obj.name, obj.mod_revision, initial))

    def on_update(self, old, new):
        self.told.append(("update", new.name, old.mod_revision, new.mod_revision))

    def on_delete(self, obj, *, stale):
        self.told.append(("delete", obj.name, obj.mod_revision, stale))


@pytest.fixture
def group():
    made = Group("test")
    yield made
    made.request_stop()
    assert made.join(30) == ()
    assert made.failure is None


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def barrier():
    return Barrier()


@pytest.fixture
def informer(group, barrier, clock):
    made = SharedInformer(POD, PREFIX, decode=decode_pod, barrier=barrier, group=group, resync=60.0, clock=clock)
    yield made
    made.close()


def put(name, revision, *, created=None, **fields):
    return WatchEvent(pod_key(name), pod_value(name, **fields), revision, created or revision)


def gone(name, revision):
    return WatchEvent(pod_key(name), None, revision)


def listed(*pods):
    return [KeyValue(pod_key(name), pod_value(name), revision, revision) for name, revision in pods]


def step(informer):
    """Apply what waits, in the test's own thread."""
    informer.step(threading.Event(), 0)


def play(informer, *listeners):
    """Apply what waits and have the listeners tell it, without any thread."""
    step(informer)
    for listener in listeners:
        tell(listener)


def tell(listener):
    stop = threading.Event()
    while len(listener):
        for entry in listener._take(stop):
            listener._pass(entry) if isinstance(entry, int) else entry.tell(listener._handler)


def test_a_listener_is_told_of_what_happened_in_order(informer):
    record = Record()
    listener = informer.add_handler(record, name="r")
    informer.replace(listed(("a", 3), ("b", 4)), 5)
    informer.mark(5)
    play(informer, listener)
    informer.apply([put("a", 6, created=3), gone("b", 7), put("c", 8)])
    informer.mark(8)
    play(informer, listener)
    assert record.told == [
        ("add", "a", 3, True),
        ("add", "b", 4, True),
        ("update", "a", 3, 6),
        ("delete", "b", 4, False),
        ("add", "c", 8, False),
    ]
    assert [pod.name for pod in informer.lister.list()] == ["a", "c"]
    assert informer.lister.get("a", "default").mod_revision == 6


def test_a_relist_tells_what_it_changed_and_marks_what_it_cannot_know(informer):
    record = Record()
    listener = informer.add_handler(record, name="r")
    informer.replace(listed(("same", 3), ("changed", 4), ("gone", 5), ("replaced", 6)), 6)
    informer.mark(6)
    play(informer, listener)
    record.told.clear()
    changed = KeyValue(pod_key("changed"), pod_value("changed"), 8, 4)
    informer.replace([*listed(("same", 3), ("replaced", 9), ("new", 10)), changed], 11)
    informer.mark(11)
    play(informer, listener)
    assert sorted(record.told) == sorted(
        [
            ("delete", "gone", 5, True),
            ("delete", "replaced", 6, True),
            ("add", "replaced", 9, False),
            ("add", "new", 10, False),
            ("update", "changed", 4, 8),
        ]
    )


def test_a_late_handler_gets_an_add_for_everything_and_then_what_comes(informer):
    informer.replace(listed(("a", 3), ("b", 4)), 5)
    informer.mark(5)
    step(informer)
    record = Record()
    listener = informer.add_handler(record, name="late")
    assert not listener.has_synced
    tell(listener)
    assert sorted(record.told) == [("add", "a", 3, True), ("add", "b", 4, True)]
    assert (listener.has_synced, listener.passed) == (True, 5)
    informer.apply([gone("a", 6)])
    play(informer, listener)
    assert record.told[-1] == ("delete", "a", 3, False)


def test_a_handler_of_an_informer_that_has_not_listed_syncs_with_the_first_list(informer):
    listener = informer.add_handler(Record(), name="early")
    tell(listener)
    assert not listener.has_synced
    informer.replace(listed(("a", 3)), 5)
    informer.mark(5)
    step(informer)
    assert not listener.has_synced
    tell(listener)
    assert listener.has_synced


def test_a_handler_that_raises_misses_that_and_no_more(informer, barrier, caplog):
    told = []

    def add(pod):
        if pod.name == "bad":
            raise RuntimeError("no")
        told.append(pod.name)

    listener = informer.add_handler(Handlers(add=add), name="fragile", barrier=True)
    informer.start()
    informer.apply([put("a", 3), put("bad", 4), put("c", 5)])
    informer.mark(5)
    assert barrier.wait(5, threading.Event(), 10)
    assert told == ["a", "c"]
    assert listener.passed == 5
    assert [record.getMessage() for record in caplog.records] == ["handler failed"]


def test_a_slow_listener_delays_only_itself(informer, barrier):
    let_go, slow, quick = threading.Event(), Record(), Record()

    def block(pod):
        let_go.wait(30)
        slow.told.append(pod.name)

    held = informer.add_handler(Handlers(add=block), name="slow")
    informer.add_handler(quick, name="quick", barrier=True)
    informer.start()
    informer.apply([put(f"p{number}", number + 3) for number in range(100)])
    informer.mark(102)
    assert barrier.wait(102, threading.Event(), 10)
    assert len(quick.told) == 100
    assert slow.told == []
    let_go.set()
    eventually(lambda: held.passed == 102, within=10)
    assert len(slow.told) == 100


def test_a_marker_waits_for_a_listener_at_work_though_nothing_is_before_it(informer):
    at_work, let_go = threading.Event(), threading.Event()

    def block(_):
        at_work.set()
        let_go.wait(30)

    held = informer.add_handler(Handlers(add=block), name="slow")
    informer.start()
    informer.apply([put("p", 3)])
    assert at_work.wait(30)
    assert len(held) == 0
    held.mark(7)
    assert held.passed < 3
    let_go.set()
    eventually(lambda: held.passed == 7, within=30)


def test_a_marker_passes_an_idle_informer_without_waking_it(informer, barrier):
    listener = informer.add_handler(Record(), name="r", barrier=True)
    informer.start()
    informer.replace([], 5)
    informer.mark(5)
    assert barrier.wait(5, threading.Event(), 10)
    # Both threads come to rest soon after they have passed it on; from then on markers are through at once.
    eventually(lambda: informer._fifo._resting and listener._resting, within=10)
    informer.mark(6)
    assert barrier.applied == 6


def test_resyncs_reach_only_who_asked_for_them(informer, clock):
    wants, wants_not = Record(), Record()
    listeners = (
        informer.add_handler(wants, name="wants", resync=True),
        informer.add_handler(wants_not, name="wants not"),
    )
    informer.replace(listed(("a", 3)), 5)
    informer.mark(5)
    play(informer, *listeners)
    clock.advance(60)
    step(informer)
    play(informer, *listeners)
    assert wants.told == [("add", "a", 3, True), ("update", "a", 3, 3)]
    assert wants_not.told == [("add", "a", 3, True)]
    informer.replace(listed(("a", 3)), 8)
    informer.mark(8)
    play(informer, *listeners)
    assert wants.told[-1] == ("update", "a", 3, 3)
    assert len(wants_not.told) == 1


def test_a_filtered_handler_sees_objects_come_and_go_as_they_pass(informer):
    record = Record()
    listener = informer.add_handler(Filtered(record, lambda pod: bool(pod.node)), name="bound")
    informer.apply([put("a", 3), put("b", 4, node="n")])
    play(informer, listener)
    informer.apply([put("a", 5, created=3, node="n"), put("b", 6, created=4, node="m")])
    play(informer, listener)
    informer.apply([put("b", 7, created=4), gone("a", 8)])
    play(informer, listener)
    informer.apply([gone("b", 9)])
    play(informer, listener)
    assert record.told == [
        ("add", "b", 4, True),
        ("add", "a", 5, False),
        ("update", "b", 4, 6),
        ("delete", "b", 6, False),
        ("delete", "a", 5, False),
    ]


def test_a_removed_handler_is_told_nothing_more_and_its_thread_ends(informer, group):
    record = Record()
    informer.start()
    listener = informer.add_handler(record, name="r")
    eventually(lambda: any("listener" in name for name in group.alive), within=10)
    informer.remove_handler(listener)
    eventually(lambda: not any("listener" in name for name in group.alive), within=10)
    informer.apply([put("a", 3)])
    informer.mark(3)
    eventually(lambda: informer.passed == 3, within=10)
    assert record.told == []


def test_closing_ends_all_threads(informer, group):
    informer.add_handler(Record(), name="r")
    informer.start()
    informer.start()
    assert len(group.alive) == 2
    informer.close()
    eventually(lambda: not group.alive, within=10)
    late = informer.add_handler(Record(), name="late")
    assert len(late) == 0
    assert not group.alive
