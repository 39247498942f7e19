"""The rules of the lock protocol, P1 to P28, each by its name and by the interleaving that asks for it.

What needs a real etcd (restored snapshots, evaluation order, error classes) is in tests/contract/test_lock_on_etcd.py:
P1, P7, P21, P25. Not the lock's own, and tested with what they belong to: P8's and P24's caches, how P6 judges a bind,
P13's child process and P28's watchdog. P9 and P10 are in test_evidence.py. P3, P15 and P17 are measured in
tests/simulation too.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest

from lockd.config import ElectionConfig
from lockd.errors import (
    ConfigError,
    NoSpace,
    OutcomeUnknown,
    PermissionDenied,
    Rejected,
    StoreError,
    Unauthenticated,
    Unavailable,
)
from lockd.fencing import Guard, GuardedWrite, ObjectWrite, Token
from lockd.ports import Acquire, Applied, Delete, Failed, KeyEvent, Put, Release, Renew, Seen, Txn, View, Which
from lockd.record import LeaderRecord, TermValue
from lockd.signals import LostHistory, Read, Refused, Reply, Stop, StopReason, StopRequested, Wait, WorkEnded
from lockd.store import to_txn
from tests.harness.candidate import START, Candidate, holder_in, put_record, record_in, unknown
from tests.harness.lock_store import LOCK, LockStore

LEASE, DEADLINE, PERIOD = 15.0, 10.0, 2.0
EPSILON = 1e-6


@pytest.fixture
def store() -> LockStore:
    return LockStore()


def candidate(store: LockStore, identity: str = "a", **config: float) -> Candidate:
    return Candidate.of(store, identity, **config)


def leader(store: LockStore, identity: str = "a", **config: float) -> Candidate:
    one = candidate(store, identity, **config)
    one.run()
    assert one.leads
    return one


def standby(store: LockStore, identity: str = "b", **config: float) -> Candidate:
    """Has read once, and waits."""
    one = candidate(store, identity, **config)
    one.run()
    assert not one.leads
    return one


def takes_over(store: LockStore, identity: str = "b") -> Candidate:
    """One that leads from now on, whatever the record says: it was there long before."""
    one = candidate(store, identity)
    one.run()
    if not one.leads:
        one.later(LEASE).run()
    assert one.leads
    return one


def lease_event(revision: int, value: bytes | None) -> KeyEvent:
    return KeyEvent(Which.LEASE, LOCK.lease, Seen(revision, value))


def term_event(revision: int, value: bytes | None) -> KeyEvent:
    return KeyEvent(Which.TERM, LOCK.term, Seen(revision, value))


def record_of(identity: str, renewal: str = "x-0", **fields: object) -> bytes:
    return LeaderRecord(holder_identity=identity, lease_duration=LEASE, renewal=renewal, **fields).encode()


def write(guard: Guard, store: LockStore, key: str = "/lockd/pods/default/web", value: bytes = b"bound") -> bool:
    """Send a guarded write; was it let through?"""
    kv = store.space.get(key)
    guarded = GuardedWrite.of(guard, [ObjectWrite(key, kv.mod_revision if kv else 0, value)])
    return not guarded.judge(store.txn(guarded.txn())).fenced


# --- P1: a restored etcd ---


def restored(store: LockStore) -> tuple[Candidate, Candidate]:
    """A's term was forgotten by a restore; B's has the same token."""
    before = store.snapshot()
    a = leader(store, "a")
    store.restore(before)
    b = leader(store, "b")
    assert a.token == b.token, "or this shows nothing"
    return a, b


def test_p1_after_a_restore_the_old_terms_writes_are_refused_though_the_token_is_the_same(store):
    a, b = restored(store)
    assert not write(a.guard, store)
    assert write(b.guard, store)


def test_p1_after_a_restore_the_old_leader_neither_renews_nor_releases_the_new_ones_lease(store):
    a, _ = restored(store)
    revision = store.revision
    renew = a.later(PERIOD).send(Renew)
    a.answer(renew, a.flight.commit())
    assert not a.leads
    assert isinstance(a.run(), Stop)
    stands = store.space.get(LOCK.lease).mod_revision
    release = Release(LeaderRecord(), renew.term, TermValue("", "x"), (), stands, renew.token)
    assert not store.send(release).commit().succeeded
    assert store.revision == revision
    assert holder_in(store) == "b"


@pytest.mark.parametrize("leads", [True, False])
def test_p1_a_lost_history_ends_leader_and_standby_alike_without_a_write(store, leads):
    one = leader(store) if leads else standby_of_other(store)
    before = store.space
    one.see(LostHistory())
    assert not one.leads
    stop = one.run()
    assert stop == Stop(StopReason.HISTORY_LOST, led=leads, released=False, asked=False)
    assert stop.exit_code == 1
    assert store.space == before


def standby_of_other(store: LockStore) -> Candidate:
    put_record(store, holder_identity="other", lease_duration=LEASE)
    return standby(store)


# --- P2: the token ---


@pytest.mark.parametrize("gone", ["deleted", "another's"])
def test_p2_an_acquire_found_committed_without_its_term_is_no_term(store, gone):
    a = candidate(store)
    acquire = a.send(Acquire)
    assert a.flight.commit().succeeded
    a.answer(acquire, unknown())
    if gone == "deleted":
        store.delete(LOCK.term)
    else:
        store.put(LOCK.term, TermValue("z", "z").encode())
    a.later(1.25)
    a.answer(a.send(Acquire), a.flight.commit())
    assert not a.leads
    assert a.election.hold is None


def test_p2_a_token_is_never_zero():
    for revision in (0, -1):
        with pytest.raises(ValueError, match="above 0"):
            Token(revision)


def test_p2_the_token_is_the_keys_revision_not_the_answers(store):
    a = candidate(store)
    acquire = a.send(Acquire)
    assert a.flight.commit().succeeded
    token = store.revision
    for _ in range(3):
        store.put("/lockd/nodes/n", b"busy")
    a.answer(acquire, unknown())
    a.later(1.25).send(Acquire)
    settled = a.flight.commit()
    assert settled.revision > token
    a.answer(acquire, settled)
    assert (a.token, a.election.hold.lease_revision) == (token, token)
    assert write(a.guard, store)


def test_p2_a_renewals_revision_is_the_keys_too(store):
    a = leader(store)
    renew = a.later(PERIOD).send(Renew)
    assert a.flight.commit().succeeded
    mine = store.revision
    store.put("/lockd/nodes/n", b"busy")
    a.answer(renew, a.flight.commit())
    assert a.election.hold.lease_revision == mine
    a.later(PERIOD).run()
    assert a.leads


# --- P3: the anchor ---


def test_p3_the_gate_counts_from_before_the_first_copy_of_the_acquire(store):
    a = candidate(store)
    sent = a.now
    acquire = a.send(Acquire)
    assert a.flight.commit().succeeded
    for _ in range(4):
        a.later(1.25)
        assert a.decide() == acquire
    a.later(0.5)
    a.answer(acquire, a.flight.commit())
    assert a.election.gate == sent + DEADLINE


@pytest.mark.parametrize("how", ["a copy's answer", "the first one's late answer", "the watch", "a read"])
def test_p3_a_resend_does_not_move_the_gate_of_a_renewal(store, how):
    a = leader(store)
    renew = a.later(PERIOD).send(Renew)
    sent = a.now
    applied = a.flight.commit()
    for _ in range(3):
        a.later(1.25)
        assert a.decide() == renew
    match how:
        case "a copy's answer":
            a.answer(renew, a.flight.commit())
        case "the first one's late answer":
            a.answer(renew, applied)
        case "the watch":
            a.watch()
        case _:
            a.see(store.view())
    assert a.election.gate == sent + DEADLINE
    assert a.election.unsettled is None


def test_p3_equal_clocks_never_overlap_even_when_the_answer_came_late(store):
    """The interleaving that breaks an anchor at the resend: commit at 0.01, answer lost, resend at 5.2."""
    b = standby_of_other(store)
    a = takes_over(store, "a")
    renew = a.later(PERIOD).send(Renew)
    sent = a.now
    a.flight.commit()
    b.at(sent + 0.01).watch()
    a.at(sent + 5.2)
    a.decide()
    a.answer(renew, a.flight.commit())
    b.at(sent + LEASE).run()
    assert not b.leads
    b.at(sent + 0.01 + LEASE).run()
    assert b.leads
    assert a.election.gate <= b.now


# --- P4: old views ---


def stale_things(store: LockStore) -> list[KeyEvent | View]:
    """What a lagging member may still show of the time before the last write of lease and term."""
    lease, term = store.space.get(LOCK.lease).mod_revision, store.space.get(LOCK.term).mod_revision
    old_lease, old_term = Seen(lease - 1, record_of("other")), Seen(term - 1, TermValue("other", "o").encode())
    return [
        lease_event(lease - 1, record_of("other")),
        lease_event(lease - 1, None),
        lease_event(lease - 1, b"garbage"),
        lease_event(lease, record_of("other")),
        term_event(term - 1, TermValue("other", "o").encode()),
        term_event(term - 1, None),
        View(min(lease, term) - 1, old_lease, old_term, Seen(term - 1, None)),
        View(min(lease, term) - 1, Seen(min(lease, term) - 1, None), Seen(min(lease, term) - 1, None)),
    ]


@pytest.mark.parametrize("index", range(8))
def test_p4_a_leader_is_not_scared_by_its_predecessors_late_news(store, index):
    put_record(store, holder_identity="other", lease_duration=LEASE)
    a = takes_over(store, "a")
    a.later(0.1).see(stale_things(store)[index])
    assert a.leads
    a.later(PERIOD).run()
    assert a.leads


@pytest.mark.parametrize("index", range(8))
def test_p4_old_news_does_not_restart_the_wait_of_a_standby(store, index):
    put_record(store, holder_identity="other", lease_duration=LEASE)
    b = standby(store)
    b.at(START + 10.0).see(stale_things(store)[index])
    b.at(START + LEASE).run()
    assert b.leads


def test_p4_the_same_news_again_does_not_either(store):
    b = standby_of_other(store)
    b.at(START + 10.0).watch().see(store.view())
    b.at(START + LEASE).run()
    assert b.leads


@pytest.mark.parametrize(
    "value",
    [
        record_of("other"),
        record_of("a", renewal="never mine"),
        record_of("", renewal="operator"),
        b"garbage",
        b"",
        None,
    ],
    ids=["valid", "own identity", "empty", "unreadable", "no bytes", "deleted"],
)
def test_p4_anything_newer_that_is_not_a_leaders_own_ends_its_term(store, value):
    a = leader(store)
    a.later(0.1).see(lease_event(store.revision + 1, value))
    assert not a.leads
    stop = a.run()
    assert isinstance(stop, Stop)
    assert (stop.led, stop.released, stop.exit_code) == (True, False, 1)


# --- P5: what settles ---

ERRORS = [
    Unavailable("connection refused"),
    OutcomeUnknown("deadline exceeded"),
    Rejected("too many requests"),
    NoSpace("quota used up"),
    PermissionDenied("not allowed"),
    Unauthenticated("token expired"),
    StoreError("anything else"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("kind", ["acquire", "renew"])
def test_p5_an_error_of_a_copy_settles_nothing(store, kind, error):
    a = candidate(store) if kind == "acquire" else leader(store)
    pending = a.send(Acquire) if kind == "acquire" else a.later(PERIOD).send(Renew)
    a.later(1.25)
    assert a.decide() == pending
    a.answer(pending, Failed(error))
    for _ in range(3):
        a.later(1.25)
        assert a.decide() == pending, "the same transaction again, and no other"
    assert a.flight.commit().succeeded, "the first copy arrives after all"
    a.answer(pending, a.flight.commit())
    assert a.leads
    assert write(a.guard, store)
    a.later(PERIOD).run()
    assert a.leads


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_p5_an_error_of_the_first_copy_settles_nothing_either(store, error):
    a = leader(store)
    renew = a.later(PERIOD).send(Renew)
    a.answer(renew, Failed(error))
    assert a.flight.commit().succeeded
    a.watch()
    assert a.leads
    assert a.election.hold.record.renewal == renew.record.renewal
    assert a.election.gate == START + PERIOD + DEADLINE


def test_p5_nothing_else_is_begun_while_a_transaction_is_unsettled(store):
    a = leader(store)
    renew = a.later(PERIOD).send(Renew)
    while a.leads:
        action = a.decide()
        assert action == renew or isinstance(action, Wait)
        if isinstance(action, Renew):
            a.answer(action, unknown())
        a.later(0.05)
    assert a.ops.count("renew") == 1


def test_p5_the_first_answer_too_is_judged_by_its_token(store):
    """A retry below us can duplicate a request: the only answer we get is then the second copy's refusal."""
    a = candidate(store)
    acquire = a.send(Acquire)
    assert a.flight.commit().succeeded
    refusal = a.flight.commit()
    assert not refusal.succeeded
    a.answer(acquire, refusal)
    assert a.leads
    renew = a.later(PERIOD).send(Renew)
    a.flight.commit()
    a.answer(renew, a.flight.commit())
    assert a.leads
    assert a.election.gate == START + PERIOD + DEADLINE


def test_p5_a_newer_event_settles_an_acquire_that_lost(store):
    a = candidate(store)
    acquire = a.send(Acquire)
    b = leader(store, "b")
    a.later(0.5).watch()
    assert a.election.unsettled is None
    assert not a.flight.commit().succeeded
    assert isinstance(a.run(), Wait)
    assert not a.leads
    assert b.leads
    a.answer(acquire, unknown())
    assert isinstance(a.run(), Wait)


# --- P6: foreign ---


@pytest.mark.parametrize("committed", [True, False])
def test_p6_an_acquire_that_does_not_stand_is_not_held_whether_or_not_it_ever_stood(store, committed):
    a = candidate(store)
    acquire = a.send(Acquire)
    if committed:
        a.flight.commit()
    takes_over(store, "b")
    a.answer(acquire, a.flight.commit())
    assert a.election.hold is None
    assert a.election.unsettled is None
    assert isinstance(a.run(), Wait)


@pytest.mark.parametrize("committed", [True, False])
def test_p6_a_renewal_that_does_not_stand_ends_the_term(store, committed):
    a = leader(store)
    renew = a.later(PERIOD).send(Renew)
    if committed:
        a.flight.commit()
    takes_over(store, "b")
    a.answer(renew, a.flight.commit())
    assert not a.leads
    assert a.run().exit_code == 1
    assert holder_in(store) == "b"


def test_p6_a_release_that_was_committed_and_overwritten_ends_with_0(store):
    a = leader(store)
    a.stop().work_ends()
    release = a.send(Release)
    assert a.flight.commit().succeeded
    takes_over(store, "b")
    a.answer(release, a.flight.commit())
    assert a.run().exit_code == 0
    assert holder_in(store) == "b"


def test_p6_the_answer_to_a_resent_guarded_write_shows_each_object_so_that_a_bind_is_judged_by_its_node(store):
    a = leader(store)
    keys = ["/lockd/pods/default/one", "/lockd/pods/default/two"]
    at = {key: store.put(key, b"uid=7") for key in keys}
    bind = GuardedWrite.of(a.guard, [ObjectWrite(key, at[key], b"uid=7 node=n1") for key in keys])
    first = bind.judge(store.txn(bind.txn()))
    assert [result.applied for result in first.results] == [True, True]
    store.put(keys[0], b"uid=7 node=n1 label=user")
    again = bind.judge(store.txn(bind.txn()))
    assert not again.fenced
    assert [result.applied for result in again.results] == [False, False]
    assert [result.objects[0].value for result in again.results] == [b"uid=7 node=n1 label=user", b"uid=7 node=n1"]


def test_p6_after_the_term_the_answer_still_shows_what_became_of_each_object(store):
    a = leader(store)
    keys = ["/lockd/pods/default/one", "/lockd/pods/default/two"]
    at = {key: store.put(key, b"uid=7") for key in keys}
    bind = GuardedWrite.of(a.guard, [ObjectWrite(key, at[key], b"uid=7 node=n1") for key in keys])
    store.txn(bind.txn())
    store.delete(keys[1])
    takes_over(store, "b")
    judged = bind.judge(store.txn(bind.txn()))
    assert judged.fenced
    assert judged.results[0].objects[0].value == b"uid=7 node=n1"
    assert judged.results[1].objects == (None,)


# --- P7: absent, there, absent again ---


def test_p7_a_late_acquire_does_not_commit_after_the_lease_key_was_deleted(store):
    a = candidate(store)
    acquire = a.send(Acquire)
    assert (acquire.lease_revision, acquire.term_revision) == (0, 0)
    leader(store, "b")
    a.watch()
    store.delete(LOCK.lease)
    assert not a.flight.commit().succeeded
    assert store.value(LOCK.lease) is None


def late_after_both_were_deleted(store: LockStore) -> Candidate:
    a = candidate(store)
    a.send(Acquire)
    leader(store, "b")
    a.watch()
    store.delete(LOCK.lease)
    store.delete(LOCK.term)
    assert a.flight.commit().succeeded, "absent is absent: no compare can tell"
    return a


def test_p7_a_record_of_mine_in_a_term_that_i_do_not_lead_is_free_to_me_at_once(store):
    a = late_after_both_were_deleted(store)
    late = store.revision
    a.watch()
    assert not a.leads
    a.run()
    assert a.leads
    assert a.token > late


def test_p7_and_for_others_it_lasts_as_long_as_any(store):
    late_after_both_were_deleted(store)
    c = candidate(store, "c")
    c.run()
    c.at(START + LEASE - EPSILON).run()
    assert not c.leads
    c.at(START + LEASE).run()
    assert c.leads


def test_p7_a_clones_record_is_foreign_to_a_leader_who_does_not_release_it(store):
    a = leader(store)
    store.put(LOCK.lease, record_of("a", renewal=f"{a.election.nonce}-77"))
    a.later(0.1).watch()
    assert not a.leads
    assert a.run() == Stop(StopReason.OVERWRITTEN, led=True, released=False, asked=False)
    assert record_in(store).renewal.endswith("-77")


def test_p7_a_clones_record_is_foreign_to_a_standby_that_never_wrote_it(store):
    """A standby restored from a snapshot of its machine has its clone's identity and nonce, and wrote nothing."""
    clone = leader(store, "a")
    one = candidate(store, "a")
    assert clone.election.nonce == one.election.nonce
    one.run()
    assert not one.leads
    assert "acquire" not in one.ops
    one.at(START + LEASE).run()
    assert one.leads


def test_p7_no_transaction_of_the_lock_deletes_a_key(store):
    a = leader(store)
    acquire = a.flight.transaction
    renew = a.later(PERIOD).send(Renew)
    release = a.stop().work_ends().send(Release)
    for transaction in (acquire, renew, release):
        txn = to_txn(LOCK, transaction)
        assert not any(isinstance(op, Delete) for op in (*txn.then, *txn.otherwise))


# --- P8: the own event proves an acquire ---


@pytest.mark.parametrize("which", ["lease", "term"])
def test_p8_an_unsettled_acquire_is_proved_by_its_own_event(store, which):
    a = candidate(store)
    acquire = a.send(Acquire)
    sent = a.now
    assert a.flight.commit().succeeded
    token = store.revision
    a.answer(acquire, unknown())
    store.put("/lockd/nodes/n", b"busy")
    key = getattr(LOCK, which)
    a.later(3.0).see(KeyEvent(Which(which), key, store.space.seen(key)))
    assert a.token == token
    assert a.election.gate == sent + DEADLINE


def test_p8_an_event_of_the_acquire_that_comes_late_does_not_settle_the_renewal_after_it(store):
    a = candidate(store)
    a.send(Acquire)
    assert a.flight.commit().succeeded
    late = lease_event(store.revision, store.value(LOCK.lease))
    a.see(term_event(store.revision, store.value(LOCK.term)))
    gate = a.election.gate
    renew = a.later(PERIOD).send(Renew)
    a.see(late)
    assert a.election.gate == gate
    a.later(a.election.config.attempt)
    assert a.decide() == renew


# --- P11: asked to stop with an acquire on its way ---


def stopping_with_an_acquire(store: LockStore) -> tuple[Candidate, Acquire]:
    a = candidate(store)
    acquire = a.send(Acquire)
    a.answer(acquire, unknown())
    a.stop()
    return a, acquire


def test_p11_it_is_sent_again_until_settled_and_released_if_won(store):
    a, acquire = stopping_with_an_acquire(store)
    assert a.flight.commit().succeeded
    a.later(a.election.config.release_attempt)
    assert a.decide() == acquire
    a.answer(acquire, a.flight.commit())
    assert not a.leads, "no work is begun"
    stop = a.run()
    assert stop == Stop(StopReason.ASKED, led=False, released=True, asked=True)
    assert stop.exit_code == 0
    assert holder_in(store) == ""


def test_p11_and_won_by_the_watch_it_is_released_too(store):
    a, _ = stopping_with_an_acquire(store)
    assert a.flight.commit().succeeded
    a.watch()
    assert a.run().released
    assert holder_in(store) == ""


def test_p11_lost_it_ends_at_once_and_writes_nothing(store):
    a, acquire = stopping_with_an_acquire(store)
    leader(store, "b")
    before = store.space
    a.answer(acquire, a.flight.commit())
    assert a.run() == Stop(StopReason.ASKED, led=False, released=False, asked=True)
    assert store.space == before


def test_p11_unsettled_at_the_bound_it_ends_with_0(store):
    a, acquire = stopping_with_an_acquire(store)
    begun, copies = a.now, 0
    while not isinstance(action := a.decide(), Stop):
        assert action == acquire or isinstance(action, Wait)
        if isinstance(action, Acquire):
            copies += 1
            a.answer(action, unknown())
        a.later(action.seconds if isinstance(action, Wait) else 0.0)
    assert action.exit_code == 0
    assert copies > 1
    assert a.now - begun <= a.election.config.exit_seconds


def test_p11_asked_before_the_acquire_it_starts_none(store):
    b = standby_of_other(store)
    b.stop()
    assert isinstance(b.later(LEASE).decide(), Stop)


# --- P12: release against an own renewal ---


@pytest.mark.parametrize("why", ["asked", "deadline"])
@pytest.mark.parametrize("answered", [True, False])
def test_p12_a_release_holds_after_an_unsettled_renewal_that_came_first(store, why, answered):
    a = leader(store)
    renew = a.later(PERIOD).send(Renew)
    renewal = a.flight
    if why == "asked":
        a.stop().work_ends()
    else:
        a.at(START + DEADLINE)
    release = a.send(Release)
    assert release.lease_revision == renew.lease_revision
    assert renewal.commit().succeeded
    if answered:
        a.answer(renew, renewal.answers[-1])
    a.answer(release, a.flight.commit())
    stop = a.run()
    assert isinstance(stop, Stop)
    assert stop.released
    assert holder_in(store) == ""


def test_p12_once_released_the_late_renewal_is_refused(store):
    a = leader(store)
    a.later(PERIOD).send(Renew)
    renewal = a.flight
    a.stop().work_ends().run()
    assert holder_in(store) == ""
    assert not renewal.commit().succeeded
    assert holder_in(store) == ""


def test_p12_the_refusal_of_a_second_copy_does_not_undo_the_first(store):
    a = leader(store)
    a.later(PERIOD).send(Renew)
    renewal = a.flight
    release = a.stop().work_ends().send(Release)
    renewal.commit()
    assert a.flight.commit().succeeded
    again = a.flight.commit()
    assert not again.succeeded
    a.answer(release, again)
    assert a.run().released


@pytest.mark.parametrize("renewal_first", [True, False])
def test_p12_a_release_that_was_given_up_frees_the_lock_when_etcd_comes_to_it(store, renewal_first):
    """etcd stands still for longer than the exit bound, with a renewal and the release before it."""
    a = leader(store)
    a.later(PERIOD).send(Renew)
    renewal = a.flight
    a.stop().work_ends().send(Release)
    release = a.flight
    assert a.election.patience(a.now) == START + LEASE - a.now
    a.at(a.now + a.election.config.exit_seconds)
    assert a.decide() == Stop(StopReason.ASKED, led=True, released=False, asked=True)
    flights = [renewal, release] if renewal_first else [release, renewal]
    for flight in flights:
        flight.commit()
    assert holder_in(store) == ""


LEASE_OF_ANOTHER = LeaderRecord(holder_identity="other", lease_duration=LEASE).encode()
TERM_OF_ANOTHER = TermValue("other", "its secret").encode()


@pytest.mark.parametrize(("key", "theirs"), [(LOCK.lease, LEASE_OF_ANOTHER), (LOCK.term, TERM_OF_ANOTHER)])
def test_p12_a_release_does_not_touch_what_another_wrote_after_the_renewal(store, key, theirs):
    a = leader(store)
    a.later(PERIOD).send(Renew)
    renewal = a.flight
    a.stop().work_ends().send(Release)
    renewal.commit()
    store.put(key, theirs)
    after = store.space
    assert not a.flight.commit().succeeded
    assert store.space == after


# --- P13: effects that etcd can't fence ---


def test_p13_an_unfenced_term_is_not_released_before_its_work_has_ended(store):
    a = leader(store, fenced=False)
    assert not record_in(store).fenced
    a.later(1.0).stop()
    a.at(START + 1.0 + a.election.config.drain_timeout)
    assert isinstance(a.decide(), Wait)
    assert holder_in(store) == "a"
    a.work_ends()
    assert a.run().released


def test_p13_and_not_at_all_when_its_work_does_not_end(store):
    a = leader(store, fenced=False)
    renew = a.later(PERIOD).send(Renew)
    a.answer(renew, unknown())
    a.at(START + DEADLINE)
    assert not a.leads
    while not isinstance(action := a.decide(), Stop):
        assert isinstance(action, Wait)
        a.later(action.seconds)
    assert not action.released
    assert a.now <= START + DEADLINE + a.election.config.exit_seconds
    assert holder_in(store) == "a"


def test_p13_an_absent_key_is_not_free_while_the_last_unfenced_record_may_live(store):
    put_record(store, holder_identity="other", lease_duration=LEASE, fenced=False)
    b = standby(store)
    store.delete(LOCK.lease)
    b.at(START + 1.0).watch()
    b.at(START + LEASE - EPSILON).run()
    assert not b.leads
    b.at(START + LEASE).run()
    assert b.leads


def test_p13_a_fenced_ones_absent_key_is_free_at_once(store):
    b = standby_of_other(store)
    store.delete(LOCK.lease)
    b.at(START + 1.0).watch().run()
    assert b.leads


# --- P14: a deadline for each phase ---


def test_p14_work_without_progress_ends_the_term(store):
    a = leader(store)
    a.working = False
    stop = a.run_until(START + 20.0)
    assert not a.leads
    assert isinstance(stop, Stop)
    assert stop.reason is StopReason.WORK_HUNG
    assert stop.exit_code == 1


def test_p14_a_promise_of_progress_lasts_as_long_as_it_says(store):
    a = leader(store)
    a.working = False
    a.election = a.election.progress(START + 3.0)
    a.run_until(START + 3.0 - EPSILON)
    assert a.leads
    assert a.run_until(START + 3.0).reason is StopReason.WORK_HUNG


def test_p14_a_drain_has_its_own_bound_and_ends_with_0(store):
    a = leader(store)
    a.run_until(START + 19.0)
    a.working = False
    a.election = a.election.progress(START + 20.0)
    a.stop()
    a.run_until(START + 24.0 - EPSILON)
    assert a.leads, "the work timeout no longer counts"
    stop = a.run_until(START + 24.0)
    assert stop == Stop(StopReason.ASKED, led=True, released=True, asked=True)
    assert stop.exit_code == 0
    assert holder_in(store) == ""


def test_p14_renewals_go_on_while_work_in_flight_finishes(store):
    a = leader(store, drain_timeout=60.0)
    a.stop()
    a.run_until(START + 50.0)
    assert a.leads
    assert a.ops.count("renew") == 25
    a.work_ends()
    assert a.run().exit_code == 0


def test_p14_a_lease_lost_while_draining_still_ends_with_0(store):
    a = leader(store)
    a.stop()
    store.put(LOCK.lease, record_of("other"))
    a.later(0.1).watch()
    assert not a.leads
    stop = a.run()
    assert (stop.reason, stop.released, stop.exit_code) == (StopReason.OVERWRITTEN, False, 0)


# --- P15: what a crash costs ---


def test_p15_a_crash_costs_one_lease(store):
    leader(store)
    b = standby(store)
    assert b.run_until(START + LEASE - EPSILON)
    assert not b.leads
    b.run_until(START + LEASE)
    assert b.leads


def test_p15_a_crash_with_a_renewal_stuck_on_its_way_costs_at_most_two_less_a_period(store):
    a = leader(store)
    b = standby(store)
    a.later(PERIOD).send(Renew)
    died = a.now
    b.at(START + LEASE - EPSILON)
    a.flight.commit()
    b.watch()
    b.run_until(died + 2 * LEASE - PERIOD - 2 * EPSILON)
    assert not b.leads
    b.run_until(died + 2 * LEASE - PERIOD)
    assert b.leads


def test_p15_and_no_second_renewal_can_be_on_its_way(store):
    a = leader(store)
    a.later(PERIOD)
    for _ in range(100):
        action = a.decide()
        if isinstance(action, Release):
            break
        a.later(0.1)
    assert [type(flight.transaction) for flight in a.flights] == [Acquire, Renew, Release]


# --- P16: an acquire settled too late ---


def settled_too_late(store: LockStore) -> Candidate:
    a = candidate(store)
    acquire = a.send(Acquire)
    a.flight.commit()
    a.later(DEADLINE + 1.0)
    a.answer(acquire, a.flight.commit())
    assert not a.leads
    return a


def test_p16_the_term_begins_once_the_gate_of_a_settled_write_is_ahead(store):
    a = settled_too_late(store)
    assert a.election.stopped is None
    renew = a.send(Renew)
    assert not a.leads
    sent = a.now
    a.later(0.5)
    a.answer(renew, a.flight.commit())
    assert a.leads
    assert a.election.gate == sent + DEADLINE
    assert write(a.guard, store)


def test_p16_asked_to_stop_it_is_released_without_a_term(store):
    a = settled_too_late(store)
    a.stop()
    assert a.run() == Stop(StopReason.ASKED, led=False, released=True, asked=True)
    assert holder_in(store) == ""


def test_p16_lost_meanwhile_it_stands_by_again(store):
    a = settled_too_late(store)
    takes_over(store, "b")
    a.watch()
    assert a.election.hold is None
    assert isinstance(a.run(), Wait)
    assert a.election.stopped is None


# --- P17: late answers ---


def test_p17_the_late_answer_of_any_copy_counts(store):
    a = leader(store)
    renew = a.later(PERIOD).send(Renew)
    sent = a.now
    first = a.flight.commit()
    a.later(1.25)
    assert a.decide() == renew
    a.later(1.25)
    assert a.decide() == renew
    assert a.election.copy == 2
    a.answer(renew, first)
    assert a.election.unsettled is None
    assert a.election.gate == sent + DEADLINE


def test_p17_the_period_counts_from_the_first_send(store):
    a = leader(store)
    renew = a.later(PERIOD).send(Renew)
    a.later(1.9)
    a.answer(renew, a.flight.commit())
    assert isinstance(a.decide(), Wait)
    a.at(START + 2 * PERIOD)
    assert isinstance(a.decide(), Renew)


def test_p17_a_copy_may_take_until_the_gate(store):
    a = leader(store)
    a.later(PERIOD).send(Renew)
    assert a.election.patience(a.now) == pytest.approx(DEADLINE - PERIOD)


def test_p17_a_read_that_takes_longer_than_an_attempt_is_followed_by_another_and_counts_all_the_same(store):
    """A standby that drops the late answers to its reads never leads where a call takes longer than its patience."""
    put_record(store, holder_identity="other", lease_duration=LEASE)
    b = candidate(store, "b")
    assert isinstance(b.decide(), Read)
    late = store.view()
    wait = b.decide()
    assert wait == Wait(b.election.config.attempt)
    b.later(wait.seconds)
    assert isinstance(b.decide(), Read), "a slow member delays nothing"
    b.later(1.0).see(late)
    b.run_until(START + wait.seconds + 1.0 + LEASE)
    assert b.leads


# --- P18: the earliest news, and the end ---


def test_p18_a_refused_guard_ends_the_term_at_once(store):
    a = leader(store)
    a.see(Refused(a.token))
    assert not a.leads
    assert a.run() == Stop(StopReason.FENCED, led=True, released=False, asked=False)


def test_p18_a_refusal_of_another_term_does_not(store):
    a = leader(store)
    a.see(Refused(a.token + 1))
    assert a.leads


def test_p18_the_term_key_alone_is_news_enough(store):
    a = leader(store)
    a.see(term_event(store.revision + 1, TermValue("other", "o").encode()))
    assert not a.leads
    assert a.run().reason is StopReason.TERM_ENDED


def test_p18_the_end_is_the_end(store):
    a = leader(store)
    renew = a.later(PERIOD).send(Renew)
    a.see(Refused(a.token))
    stop = a.run()
    late = [
        Reply(renew, Applied(succeeded=True, revision=store.revision + 1)),
        Reply(renew, unknown()),
        lease_event(store.revision + 1, renew.record.encode()),
        term_event(store.revision + 1, renew.term.encode()),
        store.view(),
        StopRequested(),
        WorkEnded(),
        Refused(1),
        LostHistory(),
    ]
    for seen in late:
        a.see(seen)
        assert a.decide() == stop
        assert not a.leads
    a.later(100.0)
    assert a.decide() == stop


@pytest.mark.parametrize("committed", [True, False])
def test_p18_a_write_refused_while_the_release_is_on_its_way_leaves_the_word_to_the_release(store, committed):
    """It may be one's own release that ended the term: then the lock was given back, and must not count as lost."""
    a = leader(store)
    release = a.stop().work_ends().send(Release)
    if not committed:
        takes_over(store, "b")
    answer = a.flight.commit()
    a.see(Refused(a.token))
    assert not isinstance(a.decide(), Stop)
    a.answer(release, answer)
    assert a.run() == Stop(StopReason.ASKED, led=True, released=committed, asked=True)


@pytest.mark.parametrize("how", ["answer", "watch", "read"])
def test_p18_a_gate_that_has_closed_does_not_open_again(store, how):
    """The work has seen it closed; a renewal's late answer, though its own gate is ahead, must not revive the term."""
    a = leader(store)
    renew = a.later(PERIOD).send(Renew)
    applied = a.flight.commit()
    a.at(START + DEADLINE + 0.1)
    assert not a.leads
    match how:
        case "answer":
            a.answer(renew, applied)
        case "watch":
            a.watch()
        case _:
            a.see(store.view())
    assert not a.leads
    stop = a.run()
    assert stop == Stop(StopReason.DEADLINE, led=True, released=True, asked=False)
    assert holder_in(store) == ""


# --- P19: work that will not stop ---


def test_p19_a_fenced_term_is_released_without_waiting_for_its_work(store):
    a = leader(store)
    renew = a.later(PERIOD).send(Renew)
    a.answer(renew, unknown())
    a.at(START + DEADLINE)
    assert isinstance(a.decide(), Release)


@pytest.mark.parametrize("how", ["raised", "hung"])
@pytest.mark.parametrize("old", [True, False])
def test_p19_work_that_failed_young_is_not_passed_on(store, how, old):
    a = leader(store, work_timeout=1.0)
    if old:
        a.run_until(START + LEASE)
    if how == "raised":
        a.work_ends(raised=True)
    else:
        a.working = False
        a.run_until(a.now + 1.0)
    assert not a.leads
    assert isinstance(a.run(), Stop)
    assert a.stopped.exit_code == 1
    assert a.stopped.released is old
    assert holder_in(store) == ("" if old else "a")


# --- P20: the term key deleted alone ---


def test_p20_costs_a_lease_and_no_more(store):
    a = leader(store)
    b = standby(store)
    store.delete(LOCK.term)
    a.later(0.1).watch()
    assert isinstance(a.run(), Stop)
    b.watch()
    b.run_until(START + LEASE)
    assert b.leads
    assert write(b.guard, store)


# --- P21: one put for each key ---


def test_p21_lease_and_term_share_a_revision_which_is_the_token(store):
    a = leader(store)
    lease, term, history = (store.space.get(key) for key in (LOCK.lease, LOCK.term, LOCK.history))
    assert lease.mod_revision == term.mod_revision == history.mod_revision == a.token


def test_p21_the_locks_transactions_put_no_key_twice(store):
    a = leader(store)
    acquire = a.flight.transaction
    renew = a.later(PERIOD).send(Renew)
    release = a.stop().work_ends().send(Release)
    for transaction in (acquire, renew, release):
        keys = [op.key for op in to_txn(LOCK, transaction).then if isinstance(op, Put)]
        assert len(keys) == len(set(keys))


def test_p21_a_guarded_write_of_one_object_twice_is_refused_whole(store):
    a = leader(store)
    write_twice = GuardedWrite.of(
        a.guard, [ObjectWrite("/lockd/pods/d/p", 0, b"1"), ObjectWrite("/lockd/pods/d/p", 0, b"2")]
    )
    before = store.space
    with pytest.raises(Rejected, match="duplicate key"):
        store.txn(write_twice.txn())
    assert store.space == before


# --- P22: names and durations that can't be ---


@pytest.mark.parametrize("seconds", ["absent", 0, -1, math.nan, math.inf, "15", None, True])
def test_p22_a_holder_without_a_duration_is_unknown_and_has_ones_own(store, seconds):
    written = {math.inf: "Infinity", "15": '"15"', None: "null", True: "true"}.get(seconds, seconds)
    written = "NaN" if written != written else written  # noqa: PLR0124 - only NaN differs from itself
    field = "" if seconds == "absent" else f', "leaseDurationSeconds": {written}'
    store.put(LOCK.lease, f'{{"holderIdentity": "other"{field}}}'.encode())
    b = standby(store, lease_duration=12.0, renew_deadline=8.0)
    b.run_until(START + 12.0 - EPSILON)
    assert not b.leads
    b.run_until(START + 12.0)
    assert b.leads


@pytest.mark.parametrize("field", ["identity", "namespace", "name"])
def test_p22_names_hold_no_slash(field):
    with pytest.raises(ConfigError, match="must not contain '/'"):
        ElectionConfig(**{"identity": "a", field: "x/y"})


# --- P23: the event of the end ---


def test_p23_rides_in_the_release(store):
    a = leader(store)
    release = a.stop().work_ends().send(Release)
    store.send(release, riders=(Put("/lockd/events/default/1-1", b"stopped leading"),)).commit()
    assert store.value("/lockd/events/default/1-1") == b"stopped leading"
    assert store.space.get("/lockd/events/default/1-1").mod_revision == store.space.get(LOCK.term).mod_revision


def test_p23_and_is_dropped_with_it(store):
    a = leader(store)
    release = a.stop().work_ends().send(Release)
    takes_over(store, "b")
    assert not store.send(release, riders=(Put("/lockd/events/default/1-1", b"stopped leading"),)).commit().succeeded
    assert store.value("/lockd/events/default/1-1") is None


# --- P25: a guarded write sent again ---


def test_p25_every_nested_transaction_reads_its_objects_when_refused(store):
    a = leader(store)
    group = (ObjectWrite("/lockd/pods/d/a", 3, b"x"), ObjectWrite("/lockd/pods/d/b", 0, None))
    txn = GuardedWrite(a.guard, (group, (ObjectWrite("/lockd/pods/d/c", 5, b"x"),))).txn()
    for nested in txn.then:
        assert isinstance(nested, Txn)
        assert [op.key for op in nested.otherwise] == [compare.key for compare in nested.compares]
    assert [op.key for op in txn.otherwise] == [LOCK.term, "/lockd/pods/d/a", "/lockd/pods/d/b", "/lockd/pods/d/c"]


def test_p25_a_delete_sent_again_shows_the_object_absent(store):
    a = leader(store)
    at = store.put("/lockd/pods/d/a", b"x")
    gone = GuardedWrite.of(a.guard, [ObjectWrite("/lockd/pods/d/a", at, None)])
    assert gone.judge(store.txn(gone.txn())).results[0].applied
    again = gone.judge(store.txn(gone.txn())).results[0]
    assert (again.applied, again.objects) == (False, (None,))


# --- P26: a release has several attempts ---


def test_p26_a_release_is_tried_often_within_its_bound(store):
    a = leader(store)
    bound = a.election.config.exit_seconds
    begun = a.later(0.5).now
    a.stop().work_ends()
    sent = []
    while not isinstance(action := a.decide(), Stop):
        if isinstance(action, Release):
            sent.append(a.now)  # and it hangs
        else:
            a.later(action.seconds)
    assert len(sent) >= 4
    assert max(after - before for before, after in pairwise(sent)) <= bound / 8 + EPSILON
    assert sent[0] == begun
    assert a.now < begun + bound, "telemetry gets the rest"


# --- P27: a preferred holder ---


def released_to(store: LockStore, preferred: str, candidates: tuple[str, ...]) -> None:
    put_record(store, preferred_holder=preferred)
    for identity in candidates:
        store.put(LOCK.candidates + identity, b"{}")


def told_of_candidates(store: LockStore, identity: str) -> Candidate:
    one = candidate(store, identity)
    for event in store.log:
        one.see(event)
    return one


def test_p27_others_leave_the_lock_for_a_second_to_a_preferred_holder_that_stands_by(store):
    released_to(store, "c", ("b", "c"))
    b, c = told_of_candidates(store, "b"), told_of_candidates(store, "c")
    b.run_until(START + 1.0 - EPSILON)
    assert not b.leads
    c.run()
    assert c.leads


def test_p27_but_no_longer(store):
    released_to(store, "c", ("b", "c"))
    b = told_of_candidates(store, "b")
    b.run_until(START + 1.0)
    assert b.leads


def test_p27_and_not_to_one_that_is_gone(store):
    released_to(store, "c", ("b", "c"))
    store.delete(LOCK.candidates + "c")
    b = told_of_candidates(store, "b")
    b.run()
    assert b.leads


def test_p27_an_acquire_drops_the_preference_and_every_field_of_the_old_holder(store):
    old = LeaderRecord(
        preferred_holder="b",
        leader_transitions=4,
        presence_holdoff=30.0,
        presence_address="10.0.0.1:7",
        traceparent="00-old",
        takeover="evidence",
        fenced=False,
        renewal="old-1",
        extra={"strategy": "theirs"},
    )
    store.put(LOCK.lease, old.encode())
    b = candidate(store, "b")
    b.run()
    record = record_in(store)
    assert (record.leader_transitions, record.presence_holdoff) == (5, 30.0)
    assert record.preferred_holder == record.presence_address == record.traceparent == ""
    assert record.extra == {}
    assert record.fenced
    assert record.takeover == "release"


def test_p27_a_renewal_and_a_release_keep_what_they_do_not_know(store):
    a = leader(store)
    hold = a.election.hold
    record = LeaderRecord.parse(hold.record.encode()[:-1] + b',"strategy":"theirs"}')
    assert record.extra == {"strategy": "theirs"}
    a.election = replace(a.election, hold=replace(hold, record=record))
    a.later(PERIOD).run()
    assert record_in(store).extra == {"strategy": "theirs"}
    a.stop().work_ends().run()
    assert record_in(store).extra == {"strategy": "theirs"}
    assert holder_in(store) == ""


# --- P28: what the watchdog is armed with ---


def test_p28_the_moment_to_arm_it_with_follows_from_the_anchor_not_from_the_answer(store):
    a = leader(store)
    renew = a.later(PERIOD).send(Renew)
    sent = a.now
    a.later(1.0)
    a.answer(renew, a.flight.commit())
    assert a.election.gate - a.now == pytest.approx(DEADLINE - 1.0)
    assert a.election.gate + a.election.config.exit_seconds < sent + LEASE


def test_every_rule_of_the_lock_alone_has_a_case():
    elsewhere = {9, 10, 24}  # presence, and the caches' comparison after a takeover
    named = {int(name.split("_")[1][1:]) for name in globals() if name.startswith("test_p")}
    assert named == set(range(1, 29)) - elsewhere
