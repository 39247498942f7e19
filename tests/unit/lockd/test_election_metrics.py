"""What the election tells in numbers: of other replicas too, since nobody reads those of a process that ends."""

from __future__ import annotations

import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from lockd.candidate import Candidate as CandidateKey
from lockd.ports import KeyEvent, Seen, Which
from lockd.telemetry import ElectionTelemetry
from tests.harness.candidate import Candidate, put_record
from tests.harness.clock import ManualClock
from tests.harness.lock_store import LOCK, LockStore


@pytest.fixture
def numbers(monkeypatch):
    """Name -> value of the one series that each instrument has now."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    monkeypatch.setattr(metrics, "get_meter", provider.get_meter)

    def read():
        data = reader.get_metrics_data()
        return {
            metric.name: metric.data.data_points[0].value
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if len(metric.data.data_points) == 1 and hasattr(metric.data.data_points[0], "value")
        }

    yield read
    provider.shutdown()


@pytest.fixture
def watched(numbers):
    """A standby with its telemetry: `see(key, value)` has it see an event."""
    one = Candidate.of(LockStore(), "b")
    telemetry = ElectionTelemetry("b", LOCK, ManualClock(), quiet=True)

    class Watched:
        def see(self, which, key, value):
            before = one.election
            one.see(KeyEvent(which, key, Seen(one.store.revision + 1, value)))
            telemetry.step(before, one.election, one.now)

        def mark(self, identity, refused):
            value = CandidateKey(identity=identity, refused_writes=refused).encode()
            self.see(Which.CANDIDATE, f"{LOCK.candidates}{identity}", value)

    return Watched()


def test_refused_writes_of_another_replica_are_counted_once(watched, numbers):
    assert numbers()["lockd_reported_fencing_rejections"] == 0, "there from the beginning, so that a rise can be seen"
    watched.mark("a", 2)
    assert numbers()["lockd_reported_fencing_rejections"] == 2
    watched.mark("a", 2)
    assert numbers()["lockd_reported_fencing_rejections"] == 2, "the same mark"
    watched.see(Which.CANDIDATE, f"{LOCK.candidates}a", None)
    watched.mark("c", 1)
    assert numbers()["lockd_reported_fencing_rejections"] == 3


def test_a_mark_without_refused_writes_counts_nothing(watched, numbers):
    watched.mark("a", 0)
    assert numbers()["lockd_reported_fencing_rejections"] == 0


def test_transitions_are_those_of_the_record_whoever_leads(numbers):
    store = LockStore()
    one, telemetry = Candidate.of(store, "b"), ElectionTelemetry("b", LOCK, ManualClock(), quiet=True)
    assert "lockd_record_leader_transitions" not in numbers(), "nothing is known yet"
    put_record(store, holder_identity="a", leader_transitions=7)
    before = one.election
    one.run()
    telemetry.step(before, one.election, one.now)
    assert numbers()["lockd_record_leader_transitions"] == 7
