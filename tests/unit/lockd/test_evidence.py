"""Early takeover by evidence: what counts and how often (P9), and what keeps replicas from duels (P10)."""

from __future__ import annotations

import pytest

from lockd.candidate import Candidate as CandidateKey
from lockd.evidence import LONGEST_HOLDOFF, doubled, eased
from lockd.ports import Acquire, KeyEvent, Renew, Seen, Which
from lockd.record import parse_history
from lockd.signals import PeerGone, Stop, StopReason, Wait
from tests.harness.candidate import START, Candidate, holder_in, put_record, record_in, unknown
from tests.harness.lock_store import LOCK, LockStore

LEASE, DEADLINE, PERIOD = 15.0, 10.0, 2.0


@pytest.fixture
def store() -> LockStore:
    return LockStore()


def leader(store: LockStore, identity: str = "a", **config: float) -> Candidate:
    one = Candidate.of(store, identity, **config)
    one.run()
    assert one.leads
    return one


def standby(store: LockStore, identity: str = "b", **config: float) -> Candidate:
    one = Candidate.of(store, identity, **config)
    one.run()
    assert not one.leads
    return one


def gone(identity: str = "a") -> PeerGone:
    return PeerGone(identity)


def renewed(one: Candidate) -> None:
    """It renews, and is told so."""
    renew = one.later(PERIOD).send(Renew)
    one.answer(renew, one.flight.commit())


def acquires(one: Candidate) -> int:
    return sum(isinstance(flight.transaction, Acquire) for flight in one.flights)


# --- what counts ---


def test_p9_evidence_against_the_holder_is_acted_on_at_once_and_told_in_record_and_history(store):
    a = leader(store)
    b = standby(store)
    b.see(gone()).run()
    assert b.leads
    assert b.now == START
    assert record_in(store).takeover == "evidence"
    kv = store.space.get(LOCK.history)
    terms = [(e.identity, e.token, e.reason, e.takeover) for e in parse_history(kv.value, kv.mod_revision)]
    assert terms == [("a", a.token, "evidence", "first"), ("b", b.token, "", "evidence")]


def test_p9_without_evidence_nobody_is_replaced_before_its_lease_has_run_out(store):
    leader(store)
    b = standby(store)
    b.run_until(START + LEASE - 0.001)
    assert acquires(b) == 0
    b.run_until(START + LEASE)
    assert record_in(store).takeover == "expiry"


def test_p9_evidence_that_comes_when_the_lease_has_run_out_anyway_is_not_named(store):
    leader(store)
    b = standby(store)
    b.later(LEASE).see(gone()).run()
    assert record_in(store).takeover == "expiry"


@pytest.mark.parametrize("identity", ["c", "b", ""])
def test_p9_evidence_against_another_than_the_newest_records_holder_is_nothing(store, identity):
    leader(store)
    b = standby(store)
    b.see(gone(identity)).run()
    assert acquires(b) == 0
    b.watch().run()
    assert acquires(b) == 0, "nor is it kept"


def test_p9_evidence_against_a_predecessor_does_not_touch_its_successor(store):
    """B and C hold evidence against A; B wins, and C must not take from a healthy B."""
    leader(store)
    b, c = standby(store, "b"), standby(store, "c")
    swap = c.see(gone()).send(Acquire)
    b.see(gone()).run()
    assert b.leads
    c.answer(swap, c.flight.commit())
    c.run()
    assert (holder_in(store), acquires(c)) == ("b", 1)


def test_p9_evidence_that_comes_after_the_successor_was_seen_is_nothing(store):
    leader(store)
    b, c = standby(store, "b"), standby(store, "c")
    b.see(gone()).run()
    c.watch().see(gone()).run()
    assert (holder_in(store), acquires(c)) == ("b", 0)


def test_p9_a_holder_whose_effects_etcd_cannot_fence_is_never_replaced_early(store):
    put_record(store, holder_identity="a", lease_duration=LEASE, fenced=False)
    b = standby(store)
    b.see(gone()).run()
    assert acquires(b) == 0
    b.run_until(START + LEASE - 0.001)
    assert acquires(b) == 0


def test_p9_a_leader_heeds_no_evidence(store):
    a = leader(store)
    a.see(gone("a")).run()
    assert a.leads
    assert a.election.evidence is None


# --- how often ---


def test_p9_a_renewal_that_came_just_before_the_death_costs_one_more_swap(store):
    a = leader(store)
    b = standby(store)
    renewed(a)  # its event is still on its way to B
    b.see(gone()).run()
    assert b.leads
    assert acquires(b) == 2
    assert record_in(store).takeover == "evidence"


def test_p9_the_same_when_the_watch_tells_of_it_first(store):
    a = leader(store)
    b = standby(store)
    swap = b.see(gone()).send(Acquire)
    renewed(a)
    b.watch()  # while the swap is on its way
    b.answer(swap, b.flight.commit())
    b.run()
    assert b.leads
    assert acquires(b) == 2


def test_p9_a_second_refusal_by_the_same_holder_is_the_end_of_it(store):
    a = leader(store)
    b = standby(store)
    for _ in range(2):
        swap = b.see(gone()).send(Acquire)
        renewed(a)
        b.answer(swap, b.flight.commit())
    assert isinstance(b.run(), Wait)
    assert (holder_in(store), acquires(b)) == ("a", 2)


def test_p9_a_renewal_seen_after_the_retry_voids_it(store):
    a = leader(store)
    b = standby(store)
    swap = b.see(gone()).send(Acquire)
    renewed(a)
    b.answer(swap, b.flight.commit())
    b.send(Acquire)  # is lost
    renewed(a)
    b.watch()
    b.run_until(b.now + LEASE - PERIOD)
    assert (holder_in(store), acquires(b)) == ("a", 2)


def test_p9_two_renewals_seen_before_any_swap_prove_that_it_lives(store):
    a = leader(store)
    b = Candidate.of(store, "b")
    b.watch()  # it has read nothing yet, so it can't acquire
    b.see(gone())
    for _ in range(2):
        renewed(a)
        b.watch()
    b.run()
    assert (holder_in(store), acquires(b)) == ("a", 0)


def test_p9_and_one_does_not(store):
    a = leader(store)
    b = Candidate.of(store, "b")
    b.watch().see(gone())
    renewed(a)
    b.watch().run()
    assert b.leads


def test_p10_evidence_counts_once_in_a_term(store):
    a = leader(store)
    b = standby(store)
    for _ in range(2):
        swap = b.see(gone()).send(Acquire)
        renewed(a)
        b.answer(swap, b.flight.commit())
    b.run()
    b.see(gone()).run()
    assert (holder_in(store), acquires(b)) == ("a", 2)


def test_p10_a_later_term_of_the_same_identity_is_another(store):
    """Processes that are given a fixed identity."""
    put_record(store, holder_identity="a", lease_duration=LEASE, leader_transitions=4)
    b = standby(store)
    swap = b.see(gone()).send(Acquire)
    put_record(store, holder_identity="a", lease_duration=LEASE, leader_transitions=5)
    b.answer(swap, b.flight.commit())
    b.run()
    assert (holder_in(store), acquires(b)) == ("a", 1), "it was against the term before"
    b.see(gone()).run()
    assert b.leads


def test_p10_the_copies_of_a_swap_without_an_answer_are_one_swap(store):
    leader(store)
    b = standby(store)
    swap = b.see(gone()).send(Acquire)
    for _ in range(3):
        b.answer(swap, unknown())
        b.later(1.25).decide()
    assert b.election.evidence.swaps == 1
    b.answer(swap, b.flight.commit())
    assert b.leads


# --- the holdoff ---


def held_off(store: LockStore, seconds: float) -> Candidate:
    put_record(store, holder_identity="a", lease_duration=LEASE, presence_holdoff=seconds)
    return standby(store)


def keep(store: LockStore, seconds: float, transitions: int = 0) -> None:
    fields = {"lease_duration": LEASE, "presence_holdoff": seconds, "leader_transitions": transitions}
    put_record(store, holder_identity="a", **fields)


def test_p10_within_the_holdoff_of_a_term_only_the_lease_counts(store):
    b = held_off(store, 20.0)
    for _ in range(9):
        keep(store, 20.0)
        b.later(PERIOD).watch().see(gone()).run()
    assert acquires(b) == 0


def test_p10_after_it_evidence_counts_again_however_much_was_dropped_before(store):
    b = held_off(store, 20.0)
    b.later(10.0).see(gone()).run()
    keep(store, 20.0)
    b.watch().later(10.0).see(gone()).run()
    assert b.leads
    assert record_in(store).takeover == "evidence"


def test_p10_the_holdoff_counts_from_the_first_sight_of_the_term_not_of_the_renewal(store):
    b = held_off(store, 20.0)
    for _ in range(10):
        keep(store, 20.0)
        b.later(PERIOD).watch()
    b.see(gone()).run()
    assert b.leads


def test_p10_each_term_has_a_holdoff_of_its_own(store):
    b = held_off(store, 20.0)
    b.later(14.0)
    keep(store, 20.0, transitions=1)
    b.watch().later(14.0).see(gone()).run()
    assert acquires(b) == 0


def test_p10_an_acquire_carries_the_holdoff_on(store):
    b = held_off(store, 20.0)
    b.run_until(START + LEASE)
    assert (holder_in(store), record_in(store).presence_holdoff) == ("b", 20.0)


# --- the mark, and what the successor makes of it ---


def mark(one: Candidate, token: int, identity: str = "a") -> Candidate:
    value = CandidateKey(identity=identity, deposed_token=token).encode()
    return one.see(KeyEvent(Which.CANDIDATE, f"{LOCK.candidates}{identity}", Seen(one.store.revision + 1, value)))


def deposer(store: LockStore, **config: float) -> tuple[int, Candidate]:
    """The token of a live leader's term, and who ended it by false evidence."""
    a = leader(store, **config)
    b = standby(store, **config)
    b.see(gone()).run()
    assert b.leads
    return a.token, b


def test_p10_the_successor_of_a_live_leader_holds_off_evidence_for_a_lease_and_says_so_in_its_next_renewal(store):
    token, b = deposer(store)
    mark(b, token).later(PERIOD).run()
    assert record_in(store).presence_holdoff == LEASE


def test_p10_a_mark_seen_before_the_acquire_was_settled_counts_too(store):
    a = leader(store)
    b = standby(store)
    swap = b.see(gone()).send(Acquire)
    b.flight.commit()
    mark(b, a.token)
    b.answer(swap, b.flight.answers[0])
    b.later(PERIOD).run()
    assert record_in(store).presence_holdoff == LEASE


def test_p10_a_mark_doubles_it_once(store):
    token, b = deposer(store)
    mark(b, token)
    for _ in range(4):
        b.later(PERIOD).run()
        mark(b, token)
    assert record_in(store).presence_holdoff == LEASE


@pytest.mark.parametrize("off", [-1, 1])
def test_p10_the_mark_of_another_term_changes_nothing(store, off):
    token, b = deposer(store)
    mark(b, token + off).later(PERIOD).run()
    assert record_in(store).presence_holdoff == 0.0


def test_p10_a_mark_changes_nothing_for_who_came_by_the_lease(store):
    a = leader(store)
    b = standby(store)
    b.run_until(START + LEASE)
    mark(b, a.token).later(PERIOD).run()
    assert record_in(store).presence_holdoff == 0.0


def test_p10_without_a_mark_the_kill_was_true_and_nobody_holds_off(store):
    _, b = deposer(store)
    b.run_until(b.now + LEASE)
    assert record_in(store).presence_holdoff == 0.0


def test_p10_who_carries_a_mark_is_no_preferred_holder(store):
    _, b = deposer(store)
    assert "a" not in mark(b, 1).election.observed.candidates


def test_p10_nor_is_who_tells_of_refused_writes_and_that_holds_nobody_off(store):
    _, b = deposer(store)
    value = CandidateKey(identity="a", refused_writes=2).encode()
    b.see(KeyEvent(Which.CANDIDATE, f"{LOCK.candidates}a", Seen(90, value))).later(PERIOD).run()
    assert "a" not in b.election.observed.candidates
    assert (b.election.observed.deposed, record_in(store).presence_holdoff) == (frozenset(), 0.0)


def test_p10_a_mark_that_cannot_be_read_is_a_candidate_like_any(store):
    _, b = deposer(store)
    key = f"{LOCK.candidates}a"
    for value in (b"", b"\xff", b"[]", b'{"deposedToken":"1"}', b'{"deposedToken":-1}', b'{"deposedToken":true}'):
        b.see(KeyEvent(Which.CANDIDATE, key, Seen(90, value)))
        assert (b.election.observed.candidates, b.election.observed.deposed) == ({"a"}, frozenset())


def test_p10_a_candidate_that_is_gone_takes_its_mark_along(store):
    token, b = deposer(store)
    mark(b, token).see(KeyEvent(Which.CANDIDATE, f"{LOCK.candidates}a", Seen(91, None)))
    assert b.election.observed.deposed == frozenset()


@pytest.mark.parametrize(
    ("old", "new"), [(0.0, LEASE), (LEASE, 30.0), (200.0, 400.0), (400.0, LONGEST_HOLDOFF), (600.0, 600.0)]
)
def test_p10_it_doubles_from_a_lease_to_ten_minutes(old, new):
    assert doubled(old, lease_duration=LEASE) == new


def test_p10_never_below_a_long_lease():
    assert doubled(600.0, lease_duration=900.0) == 900.0


@pytest.mark.parametrize(
    ("old", "age", "new"),
    [(0.0, 1e9, 0.0), (60.0, 239.9, 60.0), (60.0, 240.0, 30.0), (30.0, 120.0, 15.0), (29.0, 116.0, 0.0)],
)
def test_p10_it_is_halved_in_a_term_that_lasts_and_gone_below_a_lease(old, age, new):
    assert eased(old, age=age, lease_duration=LEASE) == new


def test_p10_a_leader_whose_term_lasts_eases_its_record(store):
    b = held_off(store, 30.0)
    b.run_until(START + LEASE)
    assert record_in(store).presence_holdoff == 30.0
    b.run_until(b.now + 118.0)
    assert record_in(store).presence_holdoff == 30.0
    b.run_until(b.now + PERIOD + 0.1)
    assert record_in(store).presence_holdoff == 15.0


# --- the goodbye ---


def test_p9_a_goodbye_is_said_after_a_settled_release(store):
    a = leader(store)
    a.stop().run()
    a.work_ends().run()
    assert a.stopped.released
    assert a.election.bids_farewell


def test_p9_and_when_a_release_is_withheld(store):
    a = leader(store)
    a.work_ends(raised=True).run()
    assert a.stopped == Stop(StopReason.WORK_RAISED, led=True, released=False, asked=False)
    assert a.election.bids_farewell


def test_p9_but_not_when_it_is_given_up(store):
    a = leader(store)
    a.later(DEADLINE).decide()
    assert a.ops[-1] == "release"
    a.later(2.0).decide()
    assert not a.stopped.released
    assert not a.election.bids_farewell


def test_p9_nor_by_a_deposed_leader_nor_while_it_leads(store):
    a = leader(store)
    assert not a.election.bids_farewell
    b = standby(store)
    b.see(gone()).run()
    a.watch().run()
    assert a.stopped.reason is StopReason.OVERWRITTEN
    assert not a.election.bids_farewell
