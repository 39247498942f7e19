"""What an election does beside the lock protocol's rules: what it waits for, reads, tells of terms, and hands over."""

from __future__ import annotations

import json
from itertools import pairwise, permutations

import pytest

from lockd.config import JITTER_FACTOR
from lockd.ports import Acquire, KeyEvent, Release, Renew, Seen, Which
from lockd.record import HISTORY_LIMIT, HistoryEntry, encode_history, parse_history
from lockd.signals import Read, ReadFailed, Stop, StopReason, StopRequested, Wait
from tests.harness.candidate import START, Candidate, holder_in, put_record, record_in, unknown
from tests.harness.lock_store import LOCK, LockStore

LEASE, DEADLINE, PERIOD = 15.0, 10.0, 2.0
MOMENT = 1e-6


@pytest.fixture
def store() -> LockStore:
    return LockStore()


def leader(store: LockStore, identity: str = "a", **config: float) -> Candidate:
    one = Candidate.of(store, identity, **config)
    one.run()
    assert one.leads
    return one


def terms_in(store: LockStore) -> list[tuple[str, int, str, str]]:
    kv = store.space.get(LOCK.history)
    return [(e.identity, e.token, e.reason, e.takeover) for e in parse_history(kv.value, kv.mod_revision)]


# --- waiting and reading ---


def test_a_standby_reads_first_then_waits_for_the_expiry_and_reads_now_and_then(store):
    put_record(store, holder_identity="other", lease_duration=LEASE)
    b = Candidate.of(store, "b")
    reads = []
    while b.now < START + LEASE - MOMENT:
        action = b.decide()
        if isinstance(action, Read):
            reads.append(b.now - START)
            b.see(store.view())
        else:
            b.later(max(action.seconds, MOMENT))
    assert reads[0] == 0.0
    gaps = [after - before for before, after in pairwise(reads)]
    assert len(gaps) >= 2
    assert all(PERIOD <= gap <= PERIOD * (1 + JITTER_FACTOR) + MOMENT for gap in gaps)
    assert len({round(gap, 6) for gap in gaps}) > 1, "spread, so that standbys don't read all at once"


def test_reads_of_two_standbys_are_spread_differently(store):
    put_record(store, holder_identity="other", lease_duration=LEASE)
    waits = []
    for identity in ("b", "c"):
        one = Candidate.of(store, identity)
        waits.append(one.run())
    assert waits[0] != waits[1]


def test_a_first_read_that_failed_is_soon_tried_again(store):
    b = Candidate.of(store, "b")
    assert isinstance(b.decide(), Read)
    b.see(ReadFailed())
    wait = b.decide()
    assert 0.0 < wait.seconds < b.election.config.attempt
    b.later(wait.seconds)
    assert isinstance(b.decide(), Read)


def test_a_silent_watch_is_made_up_for_by_reading(store):
    b = Candidate.of(store, "b")
    put_record(store, holder_identity="other", lease_duration=LEASE)
    b.run()
    put_record(store, holder_identity="other", lease_duration=LEASE, renewal="other-1")  # nobody tells b
    b.run_until(START + LEASE + MOMENT)
    assert not b.leads
    put_record(store)
    b.run_until(b.now + PERIOD * (1 + JITTER_FACTOR) + MOMENT)
    assert b.leads


@pytest.mark.parametrize("first", [Which.LEASE, Which.TERM])
def test_a_release_seen_by_half_is_read_whole_before_the_lock_is_taken(store, first):
    """Lease and term are released at one revision but told one by one; the half would be a swap in vain.

    The rest is given a moment to come, since a read would delay the acquire that it leads to.
    """
    a = leader(store)
    b = Candidate.of(store, "b")
    b.run()
    a.stop().work_ends().run()
    key = LOCK.lease if first is Which.LEASE else LOCK.term
    b.later(0.1).see(KeyEvent(first, key, store.space.seen(key)))
    moment = 0.1 * b.election.config.attempt
    assert b.decide() == Wait(pytest.approx(moment))
    b.later(moment)
    action = b.decide()
    assert isinstance(action, Read)
    b.see(store.view())
    assert isinstance(b.decide(), Acquire)
    assert b.flight.commit().succeeded


@pytest.mark.parametrize("order", list(permutations((Which.LEASE, Which.TERM, Which.HISTORY))))
def test_a_release_seen_whole_is_answered_without_a_read(store, order):
    """Its three events come in any order, and what the acquire carries on is what the release wrote."""
    a = leader(store)
    b = Candidate.of(store, "b")
    b.run()
    a.stop().work_ends().run()
    keys = {Which.LEASE: LOCK.lease, Which.TERM: LOCK.term, Which.HISTORY: LOCK.history}
    actions = []
    for which in order:
        b.see(KeyEvent(which, keys[which], store.space.seen(keys[which])))
        actions.append(b.decide())
    action = actions.pop()
    assert all(isinstance(each, Wait) for each in actions)
    assert isinstance(action, Acquire)
    entries = [(entry.identity, entry.reason) for entry in action.history]
    assert entries == [("a", "released"), ("b", "")]
    assert b.flight.commit().succeeded


def test_a_release_that_is_not_answered_at_once_goes_to_the_other_members_soon(store):
    a = leader(store)
    a.stop().work_ends()
    release = a.send(Release)
    soon = 0.1 * a.election.config.release_attempt
    assert a.decide() == Wait(pytest.approx(soon))
    a.later(soon)
    assert a.decide() == release
    assert a.decide() == Wait(pytest.approx(a.election.config.release_attempt))


def test_a_history_of_another_term_is_not_carried_on(store):
    a = leader(store)
    b = Candidate.of(store, "b")
    b.run()
    old = store.space.seen(LOCK.history)
    a.stop().work_ends().run()
    b.see(KeyEvent(Which.HISTORY, LOCK.history, old))
    for which, key in ((Which.LEASE, LOCK.lease), (Which.TERM, LOCK.term)):
        b.see(KeyEvent(which, key, store.space.seen(key)))
    b.later(b.election.config.attempt)
    assert isinstance(b.decide(), Read)


def test_a_leader_waits_for_its_next_renewal_and_never_beyond_its_gate(store):
    a = leader(store)
    assert a.decide() == Wait(PERIOD)
    renew = a.later(PERIOD).send(Renew)
    while a.leads:
        action = a.decide()
        if isinstance(action, Wait):
            assert a.now + action.seconds <= a.election.gate
            a.later(action.seconds)
        elif isinstance(action, Renew):
            a.answer(renew, unknown())
    assert a.now == a.election.hold.sent + DEADLINE


def test_a_copy_that_failed_is_followed_by_the_next_before_the_attempt_is_over(store):
    a = leader(store)
    renew = a.later(PERIOD).send(Renew)
    assert a.decide().seconds == a.election.config.attempt
    a.later(0.01).answer(renew, unknown())
    assert a.decide().seconds < a.election.config.attempt / 5


# --- the history of terms ---


def test_the_history_tells_each_term_and_how_it_ended(store):
    a = leader(store)
    a.stop().work_ends().run()
    b = leader(store, "b")
    assert terms_in(store) == [
        ("a", a.flights[0].answers[0].revision, "released", "first"),
        ("b", b.token, "", "release"),
    ]
    c = Candidate.of(store, "c")
    c.run()
    c.later(LEASE).run()
    assert terms_in(store)[1:] == [("b", b.token, "expiry", "release"), ("c", c.token, "", "expiry")]


def test_it_keeps_the_last_terms_only(store):
    old = tuple(
        HistoryEntry(identity=f"old{n}", token=n + 1, until="then", reason="released") for n in range(HISTORY_LIMIT)
    )
    put_record(store)
    store.put(LOCK.term, b'{"holderIdentity":"","acquisition":""}')
    store.put(LOCK.history, encode_history(old))
    store.put(LOCK.lease, record_in(store).encode())
    a = leader(store)
    terms = terms_in(store)
    assert len(terms) == HISTORY_LIMIT
    assert (terms[0][0], terms[-1][0]) == ("old1", "a")
    assert terms[-1][1] == a.token


def test_a_history_that_cannot_be_read_is_begun_anew(store):
    put_record(store)
    store.put(LOCK.history, b"garbage")
    leader(store)
    assert [identity for identity, *_ in terms_in(store)] == ["a"]


def test_a_history_with_text_that_cannot_be_written_stops_nobody(store):
    """JSON may hold half of a surrogate pair, which UTF-8 can't."""
    put_record(store)
    store.put(LOCK.history, b'{"terms":[{"identity":"\\ud800","token":3,"until":"x"}]}')
    assert leader(store).leads


def test_a_count_of_transitions_that_cannot_be_written_stops_nobody(store):
    store.put(LOCK.lease, b'{"leaderTransitions":' + b"9" * 4300 + b"}")
    assert leader(store).leads
    assert record_in(store).leader_transitions == 1


# --- a switchover ---


def wish(store: LockStore, one: Candidate, token: object, candidate: object = "b") -> None:
    store.put(LOCK.switchover, json.dumps({"candidate": candidate, "token": token}).encode())
    one.see(KeyEvent(Which.SWITCHOVER, LOCK.switchover, store.space.seen(LOCK.switchover)))


def test_a_switchover_of_this_term_drains_and_releases_to_the_candidate(store):
    a = leader(store)
    wish(store, a.later(1.0), a.token)
    assert isinstance(a.run(), Wait)
    assert a.election.draining == a.now
    a.work_ends()
    assert a.run() == Stop(StopReason.SWITCHOVER, led=True, released=True, asked=True)
    assert (holder_in(store), record_in(store).preferred_holder) == ("", "b")


@pytest.mark.parametrize("token", [1, 99, 0, "2", None, True])
def test_a_switchover_of_another_term_is_ignored(store, token):
    a = leader(store)
    assert token != a.token or token is True
    wish(store, a, token)
    a.run_until(START + 3 * PERIOD)
    assert a.leads
    assert a.election.draining is None


def test_a_switchover_to_anyone_prefers_nobody(store):
    a = leader(store)
    wish(store, a, a.token, None)
    a.run()
    a.work_ends().run()
    assert record_in(store).preferred_holder == ""
    assert holder_in(store) == ""


def test_a_switchover_to_a_name_that_cannot_be_written_stops_nobody(store):
    a = leader(store)
    store.put(LOCK.switchover, b'{"candidate": "\\ud800", "token": %d}' % a.token)
    a.see(KeyEvent(Which.SWITCHOVER, LOCK.switchover, store.space.seen(LOCK.switchover)))
    a.run()
    a.work_ends().run()
    assert a.stopped.released


def test_a_switchover_seen_by_a_standby_does_nothing(store):
    leader(store)
    b = Candidate.of(store, "b")
    b.run()
    wish(store, b, 2)
    assert isinstance(b.run(), Wait)


# --- the end ---


def test_the_first_reason_stays(store):
    a = leader(store)
    a.work_ends()
    a.see(StopRequested())
    stop = a.run()
    assert (stop.reason, stop.asked, stop.exit_code) == (StopReason.WORK_RETURNED, False, 1)


def test_a_later_reason_that_takes_the_record_away_forbids_the_release(store):
    a = leader(store)
    release = a.later(1.0).work_ends().send(Release)
    revision = put_record(store, holder_identity="other", lease_duration=LEASE)
    a.see(KeyEvent(Which.LEASE, LOCK.lease, Seen(revision, store.value(LOCK.lease))))
    assert a.run() == Stop(StopReason.WORK_RETURNED, led=True, released=False, asked=False)
    assert not a.flight.commit().succeeded
    assert release.token == 2
