"""Contenders of one process share reads and acquires: what etcd is asked for, and what each of them is told."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from lockd.errors import OutcomeUnknown, Unavailable
from lockd.lock_hub import FRESH, SharedRecordStore
from lockd.ports import Acquire, Applied, Failed, LockName, Renew, Seen, View
from lockd.record import LeaderRecord, TermValue
from tests.harness.clock import ManualClock

LOCK = LockName("/lockd", "ns", "name")
NOBODY = View(3, Seen(3, None), Seen(3, None), Seen(3, None))


@dataclass
class Sent:
    """A call that a test answers."""

    what: object
    done: object
    copy: int = 0
    cancelled: bool = False

    def cancel(self):
        self.cancelled = True


@dataclass
class Etcd:
    """What reaches etcd, and the watch."""

    reads: list[Sent] = field(default_factory=list)
    sends: list[Sent] = field(default_factory=list)
    subscribed: list[object] = field(default_factory=list)

    def read(self, done, *, timeout):
        self.reads.append(Sent("read", done))
        return self.reads[-1]

    def send(self, transaction, done, *, copy, timeout, riders=()):
        self.sends.append(Sent(transaction, done, copy))
        return self.sends[-1]

    def subscribe(self, lock, sink):
        self.subscribed.append(sink)
        return Sent("watch", sink)


@pytest.fixture
def etcd():
    return Etcd()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def store(etcd, clock):
    return SharedRecordStore(etcd, etcd, LOCK, clock=clock)


def acquire(who, lease=0, term=0):
    record = LeaderRecord(holder_identity=who, lease_duration=15.0, renewal=f"{who}-0")
    return Acquire(record, TermValue(who, f"secret of {who}"), (), lease, term)


def contend(store, *names, copy=0, **revisions):
    """Each candidate's answers, by name."""
    told = {name: [] for name in names}
    for name in names:
        store.send(acquire(name, **revisions), told[name].append, copy=copy, timeout=5.0)
    return told


# --- reads ---


def test_who_asks_while_a_read_is_on_its_way_gets_the_next(store, etcd):
    told = [], [], []
    for each in told:
        store.read(each.append, timeout=5.0)
    assert len(etcd.reads) == 1
    etcd.reads[0].done(NOBODY)
    assert told == ([NOBODY], [], [])
    assert len(etcd.reads) == 2
    etcd.reads[1].done(NOBODY)
    assert told == ([NOBODY], [NOBODY], [NOBODY])
    assert len(etcd.reads) == 2


def test_one_that_may_hang_is_not_waited_for(store, etcd, clock):
    told = [], []
    store.read(told[0].append, timeout=5.0)
    clock.advance(FRESH)
    store.read(told[1].append, timeout=5.0)
    etcd.reads[1].done(NOBODY)
    assert told == ([], [NOBODY])


def test_who_did_not_ask_is_told_too(store, etcd):
    seen, asked = [], []
    watch = store.watch(seen.append)
    store.read(asked.append, timeout=5.0)
    etcd.reads[0].done(NOBODY)
    assert (asked, seen) == ([NOBODY], [NOBODY])
    watch.cancel()
    store.read(asked.append, timeout=5.0)
    etcd.reads[1].done(NOBODY)
    assert seen == [NOBODY]
    assert not store.used


def test_a_read_that_failed_is_told_to_those_who_asked_alone(store, etcd):
    seen, asked = [], []
    store.watch(seen.append)
    store.read(asked.append, timeout=5.0)
    error = Unavailable("no")
    etcd.reads[0].done(error)
    assert (asked, seen) == ([error], [])


# --- acquires ---


def test_of_equal_acquires_one_is_sent_and_the_others_hear_of_it(store, etcd):
    told = contend(store, "a", "b", "c")
    assert [sent.what.record.holder_identity for sent in etcd.sends] == ["a"]
    won = Applied(succeeded=True, revision=9)
    etcd.sends[0].done(won)
    assert told["a"] == [won]
    refused = told["b"][0]
    assert (refused.succeeded, refused.revision) == (False, 9)
    assert refused.view == View(9, Seen(9, acquire("a").record.encode()), Seen(9, acquire("a").term.encode()))
    assert told["c"] == [refused]
    assert len(etcd.sends) == 1


def test_when_another_process_won_all_hear_the_same(store, etcd):
    told = contend(store, "a", "b")
    lost = Applied(succeeded=False, revision=9, view=NOBODY)
    etcd.sends[0].done(lost)
    assert told == {"a": [lost], "b": [lost]}


def test_when_nothing_is_known_of_one_the_next_is_sent(store, etcd):
    told = contend(store, "a", "b", "c")
    failed = Failed(OutcomeUnknown("no answer"))
    etcd.sends[0].done(failed)
    assert told == {"a": [failed], "b": [], "c": []}
    assert [sent.what.record.holder_identity for sent in etcd.sends] == ["a", "b"]
    etcd.sends[1].done(Applied(succeeded=True, revision=9))
    assert (told["b"][0].succeeded, told["c"][0].succeeded) == (True, False)


def test_one_that_was_given_up_is_not_sent(store, etcd):
    store.send(acquire("a"), lambda _: None, copy=0, timeout=5.0)
    store.send(acquire("b"), lambda _: None, copy=0, timeout=5.0).cancel()
    etcd.sends[0].done(Failed(OutcomeUnknown("no answer")))
    assert len(etcd.sends) == 1
    contend(store, "c")
    assert len(etcd.sends) == 2


def test_giving_up_the_one_that_was_sent_gives_its_call_up(store, etcd):
    store.send(acquire("a"), lambda _: None, copy=0, timeout=5.0).cancel()
    assert etcd.sends[0].cancelled


def test_acquires_that_compare_other_revisions_and_further_copies_do_not_wait(store, etcd):
    contend(store, "a", "b")
    contend(store, "c", lease=7)
    contend(store, "d", copy=1)
    assert [(sent.what.record.holder_identity, sent.copy) for sent in etcd.sends] == [("a", 0), ("c", 0), ("d", 1)]


def test_a_renewal_goes_through(store, etcd):
    one = acquire("a")
    for _ in range(2):
        store.send(Renew(one.record, one.term, 7, 6), lambda _: None, copy=0, timeout=5.0)
    assert len(etcd.sends) == 2
