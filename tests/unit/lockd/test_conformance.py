"""client-go's election cases, row by row, and ours beside them (X1-X12).

The rows are those of client-go's leaderelection, health adaptor and candidate tests. "me" is baz, "other" is bing; the
lease lasts 10 s unless said. Where this election differs on purpose, the case asserts the difference and says so.
Coordinated election (C1, C2), lease candidates (L1, L2) and the Lease object (S1) don't exist here: see the ADR on
what is not here.
"""

from __future__ import annotations

import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from component.clock import SystemClock
from lockd.config import ElectionConfig
from lockd.elector import Callbacks, Elector
from lockd.errors import ConfigError
from lockd.ports import Acquire, KeyEvent, Release, Renew, Which
from lockd.signals import Read, Stop, StopReason, Wait
from lockd.telemetry import ElectionTelemetry
from lockd.watchdog import renewal_problem
from tests.harness.candidate import START, Candidate, holder_in, put_record, record_in, unknown
from tests.harness.clock import ManualClock
from tests.harness.lock_store import LOCK, LockStore
from tests.harness.record_store import MemoryRecordStore
from tests.harness.wait import eventually

ME, OTHER = "baz", "bing"
NANOSECOND = 1e-9
TEN = {"lease_duration": 10.0, "renew_deadline": 6.0, "retry_period": 2.0}
QUICK = {"lease_duration": 15.0, "renew_deadline": 2.0, "retry_period": 1.0}


@pytest.fixture
def store() -> LockStore:
    return LockStore()


@pytest.fixture
def me(store) -> Candidate:
    return Candidate.of(store, ME, **TEN)


def leader(store: LockStore, **config: float) -> Candidate:
    """Me, leading since START."""
    candidate = Candidate.of(store, ME, **(config or TEN))
    candidate.run()
    assert candidate.leads
    return candidate


def see_lease(candidate: Candidate) -> None:
    lock = candidate.store.lock
    candidate.see(KeyEvent(Which.LEASE, lock.lease, candidate.store.space.seen(lock.lease)))


# --- A: try to acquire or renew ---


def test_a1_absent_key_is_created(store, me):
    assert isinstance(me.run(), Wait)
    assert me.ops == ["read", "acquire"]
    assert me.leads
    assert record_in(store).holder_identity == ME
    assert record_in(store).leader_transitions == 0
    assert me.election.observed.record.holder_identity == ME


@pytest.mark.parametrize("value", [b"", b"{}"], ids=["missing", "unset"])
def test_a2_object_without_a_record_is_taken_at_once(store, me, value):
    store.put(store.lock.lease, value)
    me.run()
    assert me.ops == ["read", "acquire"]
    assert me.leads
    assert record_in(store).leader_transitions == 1


def test_a3_the_records_duration_counts_not_ones_own(store, me):
    put_record(store, holder_identity=OTHER, lease_duration=3.0)
    assert isinstance(me.run(), Wait)
    assert me.ops == ["read"]
    me.at(START + 3.0).run()
    assert me.leads
    assert me.ops.count("acquire") == 1
    assert record_in(store).leader_transitions == 1


def test_a4_an_empty_record_is_taken_at_once(store, me):
    put_record(store)
    me.run()
    assert me.ops == ["read", "acquire"]
    assert me.leads
    assert record_in(store).leader_transitions == 1


def test_a5_a_record_observed_long_ago_is_taken_at_once(store, me):
    put_record(store, holder_identity=OTHER, lease_duration=10.0)
    me.run()
    me.later(3600.0).run()
    assert me.leads
    assert record_in(store).leader_transitions == 1


def test_a6_empty_beats_validity(store, me):
    put_record(store, holder_identity="", lease_duration=3600.0)
    me.run()
    assert me.ops == ["read", "acquire"]
    assert me.leads
    assert record_in(store).leader_transitions == 1


def test_a7_a_record_that_is_new_to_us_is_valid(store, me):
    put_record(store, holder_identity=OTHER, lease_duration=10.0)
    before = store.revision
    assert isinstance(me.run(), Wait)
    assert me.ops == ["read"]
    assert not me.leads
    assert store.revision == before
    assert me.election.observed.record.holder_identity == OTHER
    assert record_in(store).leader_transitions == 0


def test_a8_holding_without_knowing_ones_revision_is_repaired_without_a_transition(store, me):
    """client-go's lock has no cached version; here the reply that carried the revision is lost."""
    acquire = me.send(Acquire)
    me.flight.commit()
    me.answer(acquire, unknown())
    assert not me.leads
    me.later(me.election.config.attempt).run()
    assert me.leads
    assert me.ops == ["read", "acquire", "acquire again"]
    assert record_in(store).leader_transitions == 0
    assert me.token == store.space.get(store.lock.term).mod_revision


# --- R: release ---


def test_r1_release_empties_the_record(store):
    me = leader(store)
    me.stop().work_ends().run()
    assert me.ops == ["read", "acquire", "release"], "no read before the release: the difference to client-go"
    assert record_in(store).holder_identity == ""
    assert record_in(store).leader_transitions == 0
    assert me.stopped.released
    standby = Candidate.of(store, OTHER, **TEN)
    standby.see(store.view())
    assert standby.election.observed.record.holder_identity == ""


def test_r2_release_is_judged_by_the_store_not_by_what_was_observed(store):
    """client-go must Get first, so as not to write over a newer version. Here the release itself compares."""
    me = leader(store)
    lease, term = store.space.get(store.lock.lease), store.space.get(store.lock.term)
    release = me.stop().work_ends().send(Release)
    assert release.lease_revision == lease.mod_revision
    assert release.token == term.mod_revision
    assert release.term.encode() == term.value


def test_r3_a_release_that_conflicts_with_ones_own_renewal_needs_no_repetition(store):
    """client-go tries again on the newer revision. Here the release holds for both, and is tried once."""
    me = leader(store)
    renew = me.later(2.0).send(Renew)
    release = me.stop().work_ends().send(Release)
    assert not me.flights[-2].answers, "the renewal is still on its way"
    assert me.flights[-2].commit().succeeded
    me.answer(release, me.flight.commit())
    assert isinstance(me.run(), Stop)
    assert me.stopped.released
    assert holder_in(store) == ""
    assert me.ops[-2:] == ["renew", "release"]
    assert renew.lease_revision == release.lease_revision


def test_r4_a_stop_during_a_renewal_in_flight_still_releases(store):
    me = leader(store, **QUICK)
    renew = me.later(1.0).send(Renew)
    me.stop()
    me.answer(renew, unknown())
    me.work_ends()
    assert isinstance(me.run(), Stop)
    assert holder_in(store) == ""
    assert me.stopped == Stop(StopReason.ASKED, led=True, released=True, asked=True)
    assert me.ops == ["read", "acquire", "renew", "release"], "one term begun, one ended"


def test_r5_a_release_that_gets_no_answer_is_given_up_within_its_budget(store):
    """The Go case proves no release (its last Get fails too); this one proves that it fails, in time, and says so."""
    me = leader(store, **QUICK)
    me.later(0.5).stop().work_ends()
    begun, copies = me.now, 0
    while not isinstance(action := me.decide(), Stop):
        match action:
            case Release():
                copies += 1
                me.answer(action, unknown())
            case Wait(seconds=seconds):
                assert seconds < math.inf
                me.later(max(seconds, 1e-3))
    assert me.now - begun <= me.election.config.exit_seconds
    assert copies > 1, "it was tried again"
    assert me.stopped == Stop(StopReason.ASKED, led=True, released=False, asked=True)
    assert holder_in(store) == ME


# --- V: validation ---


def test_v1_the_defaults_shape_is_valid():
    assert ElectionConfig(identity=ME, lease_duration=15.0, renew_deadline=2.0, retry_period=1.0)


def test_v2_an_empty_identity_is_refused():
    with pytest.raises(ConfigError, match="identity must not be empty"):
        ElectionConfig(identity="")


# --- F: the fast path ---


def test_f1_a_renewal_needs_no_read(store):
    me = leader(store, **QUICK)
    me.later(1.0).run()
    me.later(1.0).send(Renew)
    me.stop().work_ends().run()
    assert me.ops == ["read", "acquire", "renew", "renew", "release"]


def test_f2_a_renewal_refused_because_of_ones_own_earlier_copy_goes_on(store):
    """client-go reads again after a conflict; here the refusal brings what a read would have brought."""
    me = leader(store, **QUICK)
    me.later(1.0).run()
    me.later(1.0).send(Renew)
    assert me.flight.commit().succeeded
    me.later(me.election.config.attempt).run()
    assert me.ops == ["read", "acquire", "renew", "renew", "renew again"]
    me.at(START + 3.0).run()
    me.at(START + 4.0).run()
    assert me.ops == ["read", "acquire", "renew", "renew", "renew again", "renew", "renew"]
    assert me.leads
    assert record_in(store).leader_transitions == 0


# --- K: concurrent health checks ---


def test_k1_a_health_check_sees_one_moment_of_the_election(store):
    """Values that never change can be read from any thread; a race needs something to write to."""
    me = leader(store)
    seen = me.election
    with pytest.raises(dataclasses.FrozenInstanceError):
        seen.hold = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        seen.hold.sent = 0.0
    before = seen.hold.sent
    me.later(2.0).run()
    assert seen.hold.sent == before
    assert me.election.hold.sent == before + 2.0


def test_k1_checks_from_many_threads_while_it_renews_every_5_ms():
    config = ElectionConfig(identity=ME, lease_duration=15.0, renew_deadline=10.0, retry_period=0.005)
    callbacks = Callbacks(on_started_leading=lambda leadership: leadership.draining.wait(30.0))
    elector = Elector(config, LOCK, MemoryRecordStore(), clock=SystemClock(), callbacks=callbacks)
    with ThreadPoolExecutor(5) as pool:
        running = pool.submit(elector.run)
        eventually(lambda: elector.leadership is not None, within=10.0)
        writes = elector.election.writes
        checks = list(pool.map(lambda _: elector.check(), range(2000)))
        eventually(lambda: elector.election.writes > writes + 3, within=10.0)
        elector.request_stop()
        assert running.result(10.0).exit_code == 0
    assert set(checks) == {None}


# --- H: the health check ---


def check(*, leading: bool, silent: float) -> str | None:
    return renewal_problem(
        leading=leading, last_renewal=START, now=START + silent, lease_duration=60.0, name="foo", tolerance=20.0
    )


def test_h1_without_an_election_all_is_well():
    assert renewal_problem(leading=False, last_renewal=-math.inf, now=0.0, lease_duration=60.0, name="foo") is None


def test_h2_a_leader_silent_for_an_hour_is_not_well():
    assert "failed election to renew leadership on lease foo" in check(leading=True, silent=3600.0)


def test_h3_another_leads():
    assert check(leading=False, silent=3600.0) is None


def test_h4_a_leader_that_just_renewed_is_well():
    assert check(leading=True, silent=0.0) is None


def test_h5_a_leader_is_well_within_the_tolerance():
    assert check(leading=True, silent=61.0) is None
    assert check(leading=True, silent=80.0) is None, "equal is well"
    assert check(leading=True, silent=80.001) is not None


# --- X: what the Go tests lack ---


@pytest.mark.parametrize(
    ("durations", "problem"),
    [
        ({"lease_duration": 10.0, "renew_deadline": 10.0}, "must exceed renew deadline"),
        ({"renew_deadline": 2.4, "retry_period": 2.0}, "must exceed 1.2 x retry period"),
        ({"lease_duration": 0.0}, "lease duration must be a positive number"),
        ({"renew_deadline": 0.0}, "renew deadline must be a positive number"),
        ({"retry_period": 0.0}, "retry period must be a positive number"),
        ({"lease_duration": math.nan}, "lease duration must be a positive number"),
        ({"exit_bound": 5.0}, "must stay below lease duration"),
    ],
)
def test_x1_durations_that_do_not_add_up_are_refused(durations, problem):
    with pytest.raises(ConfigError, match=problem):
        ElectionConfig(identity=ME, **durations)


def test_x1_an_elector_without_work_is_refused():
    with pytest.raises(TypeError, match="on_started_leading"):
        Callbacks()


def test_x1_fractions_of_a_second_are_kept(store):
    """client-go truncates 1.5 s to 1; here the record says 1.5, and others wait as long."""
    Candidate.of(store, ME, lease_duration=1.5, renew_deadline=1.0, retry_period=0.25).run()
    assert record_in(store).lease_duration == 1.5
    other = Candidate.of(store, OTHER, **TEN)
    other.run()
    other.at(START + 1.4).run()
    assert not other.leads
    other.at(START + 1.5).run()
    assert other.leads


def test_x2_at_the_very_moment_of_expiry_the_lock_is_free(store, me):
    put_record(store, holder_identity=OTHER, lease_duration=3.0)
    me.run()
    me.at(START + 3.0 - NANOSECOND).run()
    assert "acquire" not in me.ops
    me.at(START + 3.0)
    assert isinstance(me.decide(), Acquire)


def test_x3_a_foreign_holder_ends_the_work_at_once(store):
    me = leader(store)
    put_record(store, holder_identity=OTHER, lease_duration=10.0)
    me.later(0.1)
    see_lease(me)
    assert not me.leads
    assert me.run() == Stop(StopReason.OVERWRITTEN, led=True, released=False, asked=False)


def test_x4_a_release_never_blanks_anothers_record(store):
    me = leader(store)
    put_record(store, holder_identity=OTHER, lease_duration=10.0)
    before = store.revision
    me.stop().work_ends()
    assert isinstance(me.run(), Stop)
    assert not me.stopped.released
    assert store.revision == before
    assert holder_in(store) == OTHER


def test_x5_the_work_ends_before_the_release_is_tried_and_in_time(store):
    me = leader(store)
    renew = me.later(2.0).send(Renew)
    me.answer(renew, unknown())
    gate = START + me.election.config.renew_deadline
    me.at(gate - NANOSECOND)
    assert me.leads
    assert not isinstance(me.decide(), Release)
    me.at(gate)
    assert not me.leads
    action = me.decide()
    assert isinstance(action, Release)
    assert me.election.gate == -math.inf
    me.later(me.election.config.exit_seconds)
    assert me.decide() == Stop(StopReason.DEADLINE, led=True, released=False, asked=False)


@pytest.mark.parametrize("raised", [False, True])
def test_x6_the_end_of_the_work_is_the_end_of_the_term(store, raised):
    me = leader(store)
    me.run_until(START + 20.0)
    assert me.leads
    me.work_ends(raised=raised)
    assert not me.leads
    assert isinstance(me.run(), Stop)
    assert me.stopped.exit_code == 1
    assert me.stopped.released
    assert holder_in(store) == ""


def test_x6_work_that_raises_young_is_not_passed_on(store):
    me = leader(store)
    me.later(1.0).work_ends(raised=True)
    assert isinstance(me.run(), Stop)
    assert me.stopped.exit_code == 1
    assert not me.stopped.released
    assert holder_in(store) == ME


def test_x7_a_second_process_of_the_same_identity_does_not_lead(store):
    first = leader(store)
    second = Candidate.of(store, ME, nonce="second nonce.", **TEN)
    for _ in range(10):
        first.later(2.0).run()
        second.at(first.now).watch().run()
        assert first.leads
        assert not second.leads
    assert second.ops == ["read"] * len(second.ops)


def test_x7_and_a_leader_takes_its_own_identity_with_a_foreign_renewal_for_foreign(store):
    me = leader(store)
    put_record(store, holder_identity=ME, lease_duration=10.0, renewal="not mine")
    see_lease(me.later(0.1))
    assert not me.leads
    assert me.run() == Stop(StopReason.OVERWRITTEN, led=True, released=False, asked=False)


def test_x8_a_renewal_within_the_same_second_is_a_change(store, me):
    put_record(store, holder_identity=OTHER, lease_duration=3.0, renew_time="2026-01-01T00:00:00Z")
    me.run()
    put_record(store, holder_identity=OTHER, lease_duration=3.0, renew_time="2026-01-01T00:00:00Z")
    me.at(START + 0.4).watch()
    me.at(START + 3.0).run()
    assert "acquire" not in me.ops
    me.at(START + 3.4).run()
    assert me.leads


@pytest.mark.parametrize("how", ["by the copy's answer", "by the watch", "by a read"])
def test_x9_a_renewal_that_was_committed_without_an_answer_is_adopted(store, how):
    me = leader(store)
    renew = me.later(2.0).send(Renew)
    assert me.flight.commit().succeeded
    me.answer(renew, unknown())
    match how:
        case "by the copy's answer":
            me.later(me.election.config.attempt).run()
        case "by the watch":
            me.watch()
        case _:
            me.see(store.view())
    assert me.election.hold.lease_revision == store.space.get(store.lock.lease).mod_revision
    assert me.election.unsettled is None
    assert me.election.gate == START + 2.0 + me.election.config.renew_deadline
    assert record_in(store).leader_transitions == 0
    assert isinstance(me.at(START + 4.0).send(Renew), Renew)


@pytest.mark.parametrize("key", ["lease", "term"])
def test_x10_a_key_deleted_under_a_leader_ends_its_term(store, key):
    """client-go creates it again with the count of transitions lost."""
    me = leader(store)
    store.delete(getattr(store.lock, key))
    me.later(0.1).watch()
    assert not me.leads
    assert me.run() == Stop(StopReason.DELETED, led=True, released=False, asked=False)


@pytest.mark.parametrize("key", ["lease", "term"])
def test_x10_by_the_answer_to_the_renewal_too(store, key):
    me = leader(store)
    store.delete(getattr(store.lock, key))
    me.later(2.0)
    assert me.run() == Stop(StopReason.DELETED, led=True, released=False, asked=False)
    assert store.value(getattr(store.lock, key)) is None


@pytest.mark.parametrize(
    "value",
    [
        b"not JSON",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"holderIdentity": 7}',
        b'{"holderIdentity": "bing"}',
        b'{"holderIdentity": "bing", "leaseDurationSeconds": 0}',
        b'{"holderIdentity": "bing", "leaseDurationSeconds": -1}',
        b'{"holderIdentity": "bing", "leaseDurationSeconds": NaN}',
        b'{"holderIdentity": "bing", "leaseDurationSeconds": "15"}',
    ],
)
def test_x11_a_record_that_cannot_be_read_is_held_by_somebody_unknown(store, me, value):
    store.put(store.lock.lease, value)
    assert isinstance(me.run(), Wait)
    me.at(START + 10.0 - NANOSECOND).run()
    assert not me.leads
    assert "acquire" not in me.ops
    me.at(START + 10.0).run()
    assert me.leads


def test_x11_a_change_of_it_starts_the_wait_anew(store, me):
    store.put(store.lock.lease, b"not JSON")
    me.run()
    store.put(store.lock.lease, b"not JSON either")
    me.at(START + 9.0).watch()
    me.at(START + 18.0).run()
    assert "acquire" not in me.ops
    me.at(START + 19.0).run()
    assert me.leads


def test_x11_is_logged_once(store, me, caplog):
    told = ElectionTelemetry(ME, LOCK, ManualClock())

    def see() -> None:
        before = me.election
        see_lease(me)
        told.step(before, me.election, me.now)

    store.put(store.lock.lease, b"not JSON")
    see()
    see()
    store.put(store.lock.lease, b"not JSON either")
    see()
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert "can't be read" in warnings[0]


def test_x12_a_standby_that_never_led_ends_with_0_and_writes_nothing(store, me):
    put_record(store, holder_identity=OTHER, lease_duration=10.0)
    before = store.space
    me.run()
    me.stop()
    assert isinstance(me.run(), Stop)
    assert me.stopped == Stop(StopReason.ASKED, led=False, released=False, asked=True)
    assert me.stopped.exit_code == 0
    assert store.space == before


def test_x12_even_before_its_first_read(store, me):
    assert isinstance(me.decide(), Read)
    me.stop()
    assert isinstance(me.decide(), Stop)
    assert store.space.keys == ()


def test_every_row_has_a_case():
    """The table's rows, so that none is lost by a rename."""
    rows = [f"a{n}" for n in range(1, 9)] + [f"r{n}" for n in range(1, 6)] + ["v1", "v2", "f1", "f2", "k1"]
    rows += [f"h{n}" for n in range(1, 6)] + [f"x{n}" for n in range(1, 13)]
    cases = {name.split("_")[1] for name in globals() if name.startswith("test_")}
    assert set(rows) - cases == set()
