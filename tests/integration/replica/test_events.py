"""Events on a real etcd: stored under the term, expiring, and refused once it is over."""

from __future__ import annotations

import threading

import pytest

from component.clock import SystemClock
from lockd.etcd.retry import settle
from lockd.fencing import Guard, GuardedWrite, Token
from lockd.ports import Delete, LockName, Put, Txn
from replica.api.codec import decode
from replica.api.kinds import EVENT
from replica.api.pods import Pod
from replica.events.broadcaster import Broadcaster
from replica.events.correlator import REFRESH
from replica.events.leases import EventLeases
from replica.events.recorder import Recorder
from replica.events.sink import BATCH, EventSink
from replica.events.term import TermEvents
from tests.harness.clock import ManualClock

pytestmark = pytest.mark.etcd

CLOCK = SystemClock()
STOP = threading.Event()


class Term:
    """A term, and guarded writes under it."""

    def __init__(self, gateway, prefix, value):
        self.gateway = gateway
        self.lock = LockName(prefix, "kube-system", "kube-scheduler")
        reply = gateway.txn(Txn((), (Put(self.lock.term, value),)), timeout=5)
        self.guard = Guard(self.lock.term, Token(reply.revision), value)

    def write(self, writes):
        guarded = GuardedWrite.of(self.guard, writes)
        return guarded.judge(settle(self.gateway, guarded.txn(), clock=CLOCK, stop=STOP, attempt=1, within=10))


@pytest.fixture
def leases(gateway):
    return EventLeases(lambda ttl: gateway.lease_grant(ttl, timeout=5), clock=CLOCK)


def stored(gateway, prefix):
    listing = gateway.list(f"{prefix}/events/", timeout=5)
    return [(decode(EVENT, kv), kv) for kv in listing.kvs]


def test_a_terms_events_are_stored_with_a_lease_until_it_is_over(gateway, prefix, leases):
    broadcaster = Broadcaster()
    recorder = Recorder(broadcaster.publish, controller="default-scheduler", instance="host_1", clock=CLOCK)
    sink = EventSink(broadcaster.subscribe("sink"), leases, clock=CLOCK)
    term = Term(gateway, prefix, b"mine")
    names = TermEvents(prefix, term.guard.token)
    first = names.write(recorder.became_leader(term.lock), leases.current())
    assert not term.write([first]).fenced
    sink.lead(names, term.write)
    pods = [Pod(name=f"p{number}", namespace="default", uid=str(number)) for number in range(3 * BATCH)]
    events = [recorder.make(pod, reason="Scheduled", note="bound", action="Binding") for pod in pods]
    sink.store(events[:BATCH], STOP)
    sink.store(events[BATCH : 2 * BATCH], STOP)
    found = stored(gateway, prefix)
    assert len(found) == 2 * BATCH + 1
    assert len({kv.mod_revision for _, kv in found}) == 3  # a whole batch fits into one transaction
    assert {kv.lease for _, kv in found} == {leases.at_hand()}
    assert {event.token for event, _ in found} == {int(term.guard.token)}
    assert {event.regarding.name for event, _ in found} == {"kube-scheduler", *(pod.name for pod in pods[: 2 * BATCH])}
    assert min(kv.mod_revision for event, kv in found) == next(
        kv.mod_revision for event, kv in found if event.reason == "LeaderElection"
    )
    Term(gateway, prefix, b"another's")
    sink.store(events[2 * BATCH :], STOP)
    assert len(stored(gateway, prefix)) == 2 * BATCH + 1
    gateway.lease_revoke(leases.at_hand(), timeout=5)
    assert stored(gateway, prefix) == []


def test_a_lease_revoked_behind_its_back_costs_no_event(gateway, prefix, leases):
    recorder = Recorder(lambda event: None, controller="c", instance="i", clock=CLOCK)
    sink = EventSink(Broadcaster().subscribe("sink"), leases, clock=CLOCK, draw=lambda: 0.0)
    term = Term(gateway, prefix, b"mine")
    gateway.lease_revoke(leases.current(), timeout=5)
    sink.lead(TermEvents(prefix, term.guard.token), term.write)
    pods = [Pod(name=name, namespace="n") for name in "abc"]
    sink.store([recorder.make(pod, reason="R", note="n", action="A") for pod in pods], STOP)
    assert [kv.lease for _, kv in stored(gateway, prefix)] == [leases.at_hand()] * 3


def test_what_comes_again_is_counted_in_the_object_that_is_there(gateway, prefix, leases):
    recorder = Recorder(lambda event: None, controller="c", instance="i", clock=CLOCK)
    clock = ManualClock()
    sink = EventSink(Broadcaster().subscribe("sink"), leases, clock=clock)
    term = Term(gateway, prefix, b"mine")
    sink.lead(TermEvents(prefix, term.guard.token), term.write)

    def happens(count):
        pods = [Pod(name=name, namespace="n", uid=name) for name in "ab"]
        for _ in range(count):
            made = [recorder.make(pod, reason="FailedScheduling", note="n", action="Scheduling") for pod in pods]
            sink.store(made, STOP)

    happens(5)
    assert [(event.name, event.count) for event, _ in stored(gateway, prefix)] == [
        (f"{term.guard.token}-{number}", 2) for number in (1, 2)
    ]
    gateway.txn(Txn((), (Delete(f"{prefix}/events/n/{term.guard.token}-1"),)), timeout=5)
    clock.advance(REFRESH)
    sink.refresh(STOP)
    assert [(event.name, event.count) for event, _ in stored(gateway, prefix)] == [
        (f"{term.guard.token}-{number}", 5) for number in (2, 3)
    ]
    Term(gateway, prefix, b"another's")
    happens(1)
    clock.advance(REFRESH)
    sink.refresh(STOP)
    assert [event.count for event, _ in stored(gateway, prefix)] == [5, 5]
