"""Preempted pods are deleted when their grace period is over, by whoever leads."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lockd.errors import Fenced, Unavailable
from replica.api.codec import decode
from replica.api.keys import object_key
from replica.api.kinds import EVENT, POD
from replica.api.times import format_time
from replica.events.leases import EventLeases
from replica.events.recorder import Recorder
from replica.events.term import TermEvents
from replica.preemption.reaper import BATCH, KILLED, Reaper
from replica.writer import TermWriter
from tests.harness import term
from tests.harness.clock import ManualClock
from tests.harness.fake_etcd import FakeEtcd
from tests.harness.objects import pod


class Setting:
    """A reaper and the pods it sees, on an etcd in memory."""

    def __init__(self):
        self.clock = ManualClock()
        self.etcd = FakeEtcd()
        self.leadership = term.begin(self.etcd, self.clock)
        self.seen = {}
        writer = TermWriter(self.leadership, lambda txn, _stop: self.answer(txn), clock=self.clock)
        self.reaper = Reaper(
            self.seen.values,
            writer.write,
            prefix=term.PREFIX,
            events=TermEvents(term.PREFIX, self.leadership.token),
            leases=EventLeases(lambda seconds: self.etcd.lease_grant(seconds, timeout=1), clock=self.clock),
            recorder=Recorder(lambda *_: None, controller="c", instance="me", clock=self.clock),
            clock=self.clock,
        )
        self.failure = None

    def answer(self, txn):
        if self.failure is not None:
            raise self.failure
        return self.etcd.txn(txn, timeout=1)

    def mark(self, name, seconds):
        (made,) = term.store(self.etcd, [replace(pod(name), node="n")])
        self.seen[name] = replace(made, ends=format_time(self.clock.wall() + seconds), deleting=True)

    def left(self):
        return sorted(name for name in self.seen if self.etcd.get(object_key(term.PREFIX, POD, name, "default")))


@pytest.fixture
def at():
    made = Setting()
    yield made
    made.etcd.close()


def test_each_goes_when_its_time_has_come(at):
    at.mark("now", -1)
    at.mark("later", 30)
    assert 0 < at.reaper.step() <= 30
    assert at.left() == ["later"]
    (kv,) = at.etcd.list(f"{term.PREFIX}/events/", timeout=1).kvs
    event = decode(EVENT, kv)
    assert (event.reason, event.regarding.uid, event.token) == (
        KILLED,
        at.seen["now"].uid,
        at.leadership.token,
    )
    at.clock.advance(31)
    at.reaper.step()
    assert at.left() == []


def test_a_pod_that_changed_is_looked_at_again_when_the_cache_shows_it(at):
    at.mark("p", -1)
    old = at.seen["p"]
    at.etcd.put(object_key(term.PREFIX, POD, "p", "default"), pod("p").value)
    at.reaper.step()
    at.reaper.step()
    assert at.left() == ["p"]
    at.seen["p"] = replace(old, mod_revision=term.read(at.etcd, "p").mod_revision)
    at.reaper.step()
    assert at.left() == []


def test_what_etcd_does_not_take_is_tried_again(at):
    at.mark("p", -1)
    at.failure = Unavailable("down")
    assert at.reaper.step() > 0
    at.failure = None
    at.reaper.step()
    assert at.left() == []


def test_many_go_at_once(at):
    for number in range(BATCH + 3):
        at.mark(f"p{number}", -1)
    assert at.reaper.step() == 0.0
    assert len(at.left()) == 3
    for name in list(at.seen):
        if name not in at.left():
            del at.seen[name]
    at.reaper.step()
    assert at.left() == []


def test_a_deposed_leader_deletes_nothing(at):
    at.mark("p", -1)
    term.depose(at.etcd)
    with pytest.raises(Fenced):
        at.reaper.step()
    assert at.left() == ["p"]
