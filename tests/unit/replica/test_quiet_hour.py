"""A standby's quiet hour: what it logs while another leads and nothing happens, on a clock that the test moves."""

from __future__ import annotations

import logging
import threading

import pytest

from component.lifecycle import Group
from lockd.config import ElectionConfig
from lockd.elector import Callbacks, Elector
from lockd.record import LeaderRecord
from lockd.telemetry import ElectionTelemetry
from replica.cache.informers import Informers
from replica.events.broadcaster import Broadcaster
from replica.events.leases import EventLeases
from replica.events.sink import EventSink
from tests.harness.candidate import put_record
from tests.harness.clock import ManualClock
from tests.harness.fake_etcd import FakeEtcd
from tests.harness.record_store import LOCK, MemoryRecordStore
from tests.harness.wait import eventually

HOUR, RENEWAL, STEP, AUDIT = 3600.0, 2.0, 0.5, 300.0
MOST = 3
NEVER = threading.Event()
WITHIN = 60.0


class Lines(logging.Handler):
    """Keeps what a process with default verbosity would show."""

    def __init__(self):
        super().__init__()
        self.said = []

    def emit(self, record):
        if record.levelno >= logging.INFO:
            self.said.append(record.getMessage())


@pytest.fixture
def lines():
    """What is logged from now on."""
    handler = Lines()
    logging.getLogger().addHandler(handler)
    yield handler.said
    logging.getLogger().removeHandler(handler)


def follow(clock):
    """Have an elector follow a leader that renews for an hour; how many renewals it saw."""
    store = MemoryRecordStore()
    put_record(store.store, holder_identity="leader", lease_duration=15.0, renewal="0")
    telemetry = ElectionTelemetry("me", LOCK, clock)
    elector = Elector(
        ElectionConfig(identity="me"),
        LOCK,
        store,
        clock=clock,
        callbacks=Callbacks(
            on_started_leading=None,
            on_new_leader=telemetry.new_leader,
            on_step=telemetry.step,
            on_degraded=telemetry.degraded,
        ),
    )
    end, due, renewals = clock.now() + HOUR, clock.now() + RENEWAL, 0
    for _ in elector.turns(longest=0.0):
        clock.advance(STEP)
        if clock.now() >= due:
            due += RENEWAL
            renewals += 1
            record = LeaderRecord(holder_identity="leader", lease_duration=15.0, renewal=str(renewals))
            seen = len(store.store.log)
            store.store.put(LOCK.lease, record.encode())
            store.tell(seen)
        if clock.now() >= end:
            break
    assert elector.leader == "leader"
    assert not elector.trouble()
    return renewals


def cache(clock, renewals):
    """Have caches watch the same renewals, be audited as often as in an hour, and events be let go."""
    etcd, group = FakeEtcd(), Group("standby")
    informers = Informers(etcd, "/t", group=group)
    broadcaster = Broadcaster(clock=clock)
    sink = EventSink(broadcaster.subscribe("sink"), EventLeases(lambda _: 1, clock=clock), clock=clock)
    informers.start()
    try:
        assert informers.wait_for_sync(NEVER, WITHIN)
        for number in range(renewals):
            etcd.put(LOCK.lease.replace(LOCK.prefix, "/t", 1), str(number).encode())
            sink.refresh(NEVER)
        eventually(lambda: informers.barrier.applied >= etcd.revision, within=WITHIN)
        for _ in range(int(HOUR / AUDIT)):
            informers.audit._try(NEVER)
        assert informers.problem() is None
    finally:
        group.request_stop()
        informers.close()
        assert group.join(WITHIN) == ()
        etcd.close()


def test_a_quiet_hour_of_a_standby_has_at_most_three_lines(lines):
    clock = ManualClock()
    renewals = follow(clock)
    assert renewals == HOUR / RENEWAL
    cache(clock, renewals)
    assert len(lines) <= MOST, lines
    assert "new leader observed" in lines
