"""What the election tells in numbers: of other replicas too, since nobody reads those of a process that ends."""

from __future__ import annotations

import logging

import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from lockd.candidate import Candidate as CandidateKey
from lockd.election_metrics import LockMetrics, Unmetered
from lockd.errors import NoSpace, PermissionDenied, Unavailable
from lockd.ports import Acquire, KeyEvent, Renew, Seen, Which
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


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Unavailable("no"), "etcd does not answer the election"),
        (NoSpace("no"), "etcd does not answer the election"),
        (PermissionDenied("no"), "etcd refuses the election"),
        (None, "etcd answers again"),
    ],
)
def test_a_refusal_is_told_apart_from_silence(numbers, caplog, error, told):
    caplog.set_level(logging.INFO)
    ElectionTelemetry("b", LOCK, ManualClock()).degraded(error)
    assert caplog.messages == [told]


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


class Numbers(Unmetered):
    """Keeps what it is told, in order."""

    def __init__(self):
        self.told = []

    def took_over(self, takeover, *, detection, election):
        self.told.append((takeover, detection, election))

    def started(self, takeover, gate):
        self.told.append(("started", takeover))

    def renewed(self, seconds, copies, gate):
        self.told.append(("renewed", seconds, copies))

    def lost(self, reason, *, asked):
        self.told.append(("lost", asked))


class Told:
    """A candidate with its telemetry, which sees each of its steps."""

    def __init__(self, **record):
        self.store, self.numbers = LockStore(), Numbers()
        if record:
            put_record(self.store, **record)
        self.one = Candidate.of(self.store, "b")
        self._telemetry = ElectionTelemetry("b", LOCK, ManualClock(), quiet=True, numbers=self.numbers)

    def step(self, act):
        before = self.one.election
        found = act()
        self._telemetry.step(before, self.one.election, self.one.now)
        return found

    def settle(self, kind, *, after):
        """Send one and have it settled so many seconds later."""
        sent = self.step(lambda: self.one.send(kind))
        self.one.later(after)
        self.step(lambda: self.one.answer(sent, self.one.flight.commit()))


def test_a_takeover_is_told_by_phase_from_the_last_sign_of_life():
    at = Told(holder_identity="a", lease_duration=15.0)
    at.step(at.one.run)
    at.one.later(15.0)
    at.settle(Acquire, after=0.25)
    assert at.numbers.told == [("expiry", 15.0, 0.25), ("started", "expiry")]


def test_the_first_term_of_a_lock_takes_nothing_over():
    at = Told()
    at.settle(Acquire, after=0.25)
    assert at.numbers.told == [("started", "first")]


def test_a_renewal_counts_from_its_first_copy_and_with_all_its_copies():
    at = Told()
    at.settle(Acquire, after=0.0)
    at.one.later(2.0)
    first = at.step(lambda: at.one.send(Renew))
    at.one.later(at.one.election.config.attempt)
    assert at.step(lambda: at.one.send(Renew)) == first
    at.step(lambda: at.one.answer(first, at.one.flight.commit()))
    assert at.numbers.told[1:] == [("renewed", at.one.election.config.attempt, 2)]


def test_an_end_that_was_asked_for_is_told_from_a_loss():
    for end, asked in ((lambda one: one.stop().work_ends(), True), (lambda one: one.work_ends(raised=True), False)):
        at = Told()
        at.settle(Acquire, after=0.0)
        at.step(lambda end=end, one=at.one: end(one))
        at.step(at.one.run)
        assert at.numbers.told[-1] == ("lost", asked)


def test_what_a_lock_tells_in_numbers(numbers):
    mine = LockMetrics("job", ManualClock())
    assert numbers()["leader_election_master_status"] == numbers()["leader_election_slowpath"] == 0
    mine.started("first", gate=ManualClock().now() + 7.0)
    assert (numbers()["leader_election_master_status"], numbers()["lockd_lease_remaining"]) == (1, 7.0)
    mine.renewed(0.01, 1, gate=ManualClock().now() + 10.0)
    assert (numbers()["leader_election_slowpath"], numbers()["lockd_lease_remaining"]) == (0, 10.0)
    mine.renewed(0.01, 2, gate=ManualClock().now() - 1.0)
    assert (numbers()["leader_election_slowpath"], numbers()["lockd_lease_remaining"]) == (1, 0.0)
    mine.lost("the renew deadline passed", asked=False)
    assert numbers()["leader_election_master_status"] == 0
    assert "lockd_lease_remaining" not in numbers()
