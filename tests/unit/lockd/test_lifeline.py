"""Elections for a client elsewhere: its keep-alives and its silence, a broken stream, a term taken up again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockd.fencing import Token
from lockd.lifeline import LEAST_GAP, Claim, Lifeline
from lockd.ports import Acquire, KeyEvent, Release, Renew, Which
from lockd.record import TermValue, encode_history
from lockd.signals import Abandoned, KeepAlive, Read, StopReason, Wait
from tests.harness.candidate import START, Candidate, holder_in, put_record, record_in, unknown
from tests.harness.lock_store import LOCK, LockStore

LEASE, DEADLINE, PERIOD = 15.0, 10.0, 2.0
MOMENT = 1e-6


@pytest.fixture
def store() -> LockStore:
    return LockStore()


def client(store: LockStore, identity: str = "c", *, claim: Claim | None = None, nonce: str = "", now: float = START):
    one = Candidate.of(store, identity, nonce=nonce, now=now, fenced=False)
    one.election = replace(one.election, lifeline=Lifeline(now), claim=claim)
    return one


def leading(store: LockStore, identity: str = "c") -> Candidate:
    one = client(store, identity)
    one.run()
    assert one.leads
    return one


def claim_of(one: Candidate) -> Claim:
    """What its client was told when the term began."""
    acquired = one.flights[0]
    return Claim(Token(acquired.answers[0].revision), acquired.transaction.term)


def elsewhere(one: Candidate, claim: Claim | None = None) -> Candidate:
    """The same client's next stream, on another process."""
    return client(one.store, one.election.config.identity, claim=claim or claim_of(one), nonce="other.", now=one.now)


def beat(one: Candidate, number: int) -> Candidate:
    return one.see(KeepAlive(number))


# --- keep-alives ---


def test_the_acquire_answers_what_was_heard_before_it(store):
    one = client(store)
    beat(one, 3)
    one.run()
    assert one.leads
    assert one.election.lifeline.answered == 3


def test_without_a_new_keep_alive_nothing_is_renewed(store):
    one = leading(store)
    action = one.later(PERIOD * 2).run()
    assert action == Wait(DEADLINE - PERIOD * 2)
    assert one.ops.count("renew") == 0


def test_a_keep_alive_is_renewed_for_at_once_and_answered_by_the_commit(store):
    one = leading(store)
    beat(one.later(PERIOD), 1)
    renew = one.send(Renew)
    assert one.election.lifeline.answered == 0
    one.answer(renew, one.flight.commit())
    assert one.election.lifeline.answered == 1
    assert one.election.gate == START + PERIOD + DEADLINE


@pytest.mark.parametrize("number", [1, 0, -5])
def test_one_that_is_not_new_says_nothing(store, number):
    one = leading(store)
    beat(one.later(PERIOD), 1).run()
    beat(one.later(PERIOD), number).run()
    assert one.ops.count("renew") == 1


def test_an_eager_client_is_renewed_for_no_oftener_than_twice_a_period(store):
    one = leading(store)
    for number in range(1, 101):
        beat(one.later(0.05), number).run()
    assert 4 <= one.ops.count("renew") <= 5.0 / (LEAST_GAP * PERIOD)
    assert one.election.lifeline.answered >= 100 - LEAST_GAP * PERIOD / 0.05


def test_what_comes_while_a_renewal_is_on_its_way_waits_for_the_next(store):
    one = leading(store)
    beat(one.later(PERIOD), 1)
    renew = one.send(Renew)
    beat(one.later(0.1), 2)
    assert isinstance(one.decide(), Wait)
    one.answer(renew, one.flight.commit())
    assert one.election.lifeline.answered == 1
    one.later(LEAST_GAP * PERIOD).run()
    assert one.election.lifeline.answered == 2


# --- silence ---


def test_a_silent_holder_is_given_up_at_the_gate_and_not_released(store):
    one = leading(store)
    stop = one.run_until(START + DEADLINE)
    assert (stop.reason, stop.led, stop.released) == (StopReason.SILENT, True, False)
    assert holder_in(store) == "c"
    assert not any(isinstance(flight.transaction, Release) for flight in one.flights)


def test_a_holder_whose_renewals_are_not_committed_is_no_silent_one(store):
    one = leading(store)
    beat(one.later(PERIOD), 1)
    one.send(Renew)
    one.at(START + DEADLINE).see(KeepAlive(2))
    assert one.election.ending.reason is StopReason.DEADLINE


def test_nor_is_it_released_when_the_gate_closed(store):
    one = leading(store)
    beat(one.later(PERIOD), 1)
    one.send(Renew)
    one.at(START + DEADLINE).decide()
    one.later(LEASE).decide()
    assert not one.stopped.released
    assert holder_in(store) == "c"


def test_a_silent_standby_is_given_up_and_never_acquires(store):
    put_record(store, holder_identity="other", lease_duration=LEASE)
    one = client(store)
    stop = one.run_until(START + LEASE + 1.0)
    assert (stop.reason, stop.led) == (StopReason.SILENT, False)
    assert one.now == pytest.approx(START + DEADLINE)
    assert holder_in(store) == "other"


def test_nor_is_one_heard_that_says_what_it_said_before(store):
    put_record(store, holder_identity="other", lease_duration=LEASE)
    one = client(store)
    beat(one.later(1.0), 1)
    beat(one.later(DEADLINE - 1.0), 1)
    one.run_until(START + 1.0 + DEADLINE)
    assert one.stopped.reason is StopReason.SILENT


def test_one_that_is_heard_waits_on(store):
    put_record(store, holder_identity="other", lease_duration=LEASE)
    one = client(store)
    one.run_until(START + DEADLINE - 1.0)
    beat(one, 1)
    one.run_until(START + LEASE + MOMENT)
    assert one.leads
    assert one.election.lifeline.answered == 1


def test_an_acquire_on_its_way_for_a_silent_standby_is_settled_and_released(store):
    one = client(store)
    acquire = one.send(Acquire)
    committed = one.flight.commit()
    one.answer(acquire, unknown())
    one.at(START + DEADLINE)
    again = one.decide()
    assert one.election.ending.reason is StopReason.SILENT
    while again != acquire:
        one.later(max(again.seconds, MOMENT))
        again = one.decide()
    one.answer(acquire, one.flight.commit())
    assert one.flight.answers[0] == committed
    one.run()
    assert one.stopped.released
    assert holder_in(store) == ""


# --- the end of a stream ---


def test_a_clean_end_releases_at_once(store):
    one = leading(store)
    one.later(1.0).stop().work_ends().run()
    assert (one.stopped.reason, one.stopped.released) == (StopReason.ASKED, True)
    assert holder_in(store) == ""


def test_a_broken_stream_leaves_the_term_to_run_out(store):
    one = leading(store)
    one.later(1.0).see(Abandoned()).run()
    assert (one.stopped.reason, one.stopped.led, one.stopped.released) == (StopReason.ABANDONED, True, False)
    assert holder_in(store) == "c"


def test_one_that_breaks_while_it_releases_is_released(store):
    one = leading(store)
    one.later(1.0).stop().work_ends().send(Release)
    one.see(Abandoned())
    one.answer(one.flight.transaction, one.flight.commit())
    one.run()
    assert one.stopped.released


def test_a_standby_whose_stream_breaks_writes_nothing(store):
    put_record(store, holder_identity="other", lease_duration=LEASE)
    one = client(store)
    one.run()
    one.see(Abandoned()).run()
    assert one.flights == []
    assert one.stopped.reason is StopReason.ABANDONED


def test_an_acquire_that_nobody_was_told_of_is_released(store):
    one = client(store)
    acquire = one.send(Acquire)
    one.see(Abandoned())
    one.answer(acquire, one.flight.commit())
    one.run()
    assert holder_in(store) == ""


# --- a term taken up elsewhere ---


def test_a_term_is_taken_up_by_a_renewal(store):
    one = leading(store)
    token = one.token
    one.later(3.0).see(Abandoned()).run()
    other = elsewhere(one)
    other.run()
    assert other.leads
    assert other.ops == ["read", "renew"]
    assert (other.token, record_in(store).leader_transitions) == (token, 0)
    assert other.election.lifeline.answered == 0
    assert other.election.gate == other.now + DEADLINE
    assert store.space.guarded(other.guard.compares())


def test_it_is_renewed_and_released_like_any(store):
    one = leading(store)
    one.later(3.0).see(Abandoned()).run()
    other = elsewhere(one)
    other.run()
    beat(other.later(PERIOD), 1).run()
    assert other.election.lifeline.answered == 1
    other.stop().work_ends().run()
    assert other.stopped.released
    assert (holder_in(store), one.store.space.get(LOCK.term).mod_revision > other.flights[0].transaction.token) == (
        "",
        True,
    )


def test_it_goes_on_even_when_its_lease_had_run_out_and_nobody_came(store):
    one = leading(store)
    one.see(Abandoned()).run()
    other = elsewhere(one.later(LEASE * 3))
    other.run()
    assert other.leads


def test_a_term_that_is_over_is_not_taken_up_and_none_is_begun(store):
    one = leading(store)
    claim = claim_of(one)
    one.stop().work_ends().run()
    other = elsewhere(one, claim)
    other.run()
    assert (other.stopped.reason, other.stopped.led) == (StopReason.TERM_ENDED, False)
    assert other.flights == []
    assert holder_in(store) == ""


def test_nor_is_another_s(store):
    one = leading(store)
    claim = claim_of(one)
    one.see(Abandoned()).run()
    put_record(store, holder_identity="other", lease_duration=LEASE)
    other = elsewhere(one, claim)
    other.run()
    assert other.stopped.reason is StopReason.TERM_ENDED
    assert holder_in(store) == "other"


def test_nor_by_one_that_does_not_know_the_acquisition(store):
    one = leading(store)
    other = elsewhere(one, replace(claim_of(one), term=TermValue("c", "guessed")))
    other.run()
    assert other.stopped.reason is StopReason.TERM_ENDED
    assert other.flights == []
    assert one.leads


def test_an_older_view_is_no_proof_that_it_is_over(store):
    put_record(store)
    old = store.view()
    one = leading(store)
    one.see(Abandoned()).run()
    other = elsewhere(one)
    assert isinstance(other.decide(), Read)
    other.see(old)
    other.later(DEADLINE / 2).run()
    assert other.leads


def test_a_late_renewal_of_the_broken_stream_is_followed(store):
    one = leading(store)
    beat(one.later(PERIOD), 1)
    late = one.send(Renew)
    one.see(Abandoned())
    other = elsewhere(one)
    renew = other.send(Renew)
    one.flight.commit()
    refused = other.flight.commit()
    assert not refused.succeeded
    other.answer(renew, refused)
    other.run()
    assert other.leads
    assert record_in(store).renewal.startswith("other.")
    assert late.lease_revision == renew.lease_revision


def test_so_it_is_when_the_watch_tells_first(store):
    one = leading(store)
    beat(one.later(PERIOD), 1)
    one.send(Renew)
    other = elsewhere(one)
    other.send(Renew)
    one.flight.commit()
    other.watch().run()
    assert other.leads


def test_the_stream_that_it_was_taken_from_ends_at_the_first_sight(store):
    one = leading(store)
    other = elsewhere(one)
    other.run()
    one.watch()
    assert one.run().reason is StopReason.OVERWRITTEN
    assert not one.stopped.released
    assert holder_in(store) == "c"
    assert other.leads


@pytest.mark.parametrize("key", [LOCK.lease, LOCK.term])
def test_a_key_that_is_gone_ends_it(store, key):
    one = leading(store)
    one.see(Abandoned()).run()
    other = elsewhere(one)
    renew = other.send(Renew)
    store.delete(key)
    other.answer(renew, other.flight.commit())
    other.run()
    assert other.stopped.reason is StopReason.DELETED
    assert not other.stopped.led


def test_a_release_by_the_earlier_stream_ends_it(store):
    one = leading(store)
    other = elsewhere(one)
    other.send(Renew)
    one.stop().work_ends().run()
    other.see(KeyEvent(Which.LEASE, LOCK.lease, store.space.seen(LOCK.lease)))
    other.run()
    assert other.stopped.led is False
    assert holder_in(store) == ""


def test_a_stream_that_breaks_again_before_it_leads_does_not_release_the_term(store):
    one = leading(store)
    one.see(Abandoned()).run()
    other = elsewhere(one)
    renew = other.send(Renew)
    other.see(Abandoned())
    other.answer(renew, other.flight.commit())
    other.run()
    assert not other.stopped.released
    assert holder_in(store) == "c"


def test_nor_does_the_silence_of_its_client(store):
    one = leading(store)
    one.see(Abandoned()).run()
    other = elsewhere(one)
    other.send(Renew)
    other.later(DEADLINE).decide()
    assert other.stopped.reason is StopReason.SILENT
    assert holder_in(store) == "c"


def test_a_history_that_is_lost_keeps_nobody_from_releasing(store):
    one = leading(store)
    one.see(Abandoned()).run()
    store.put(LOCK.history, encode_history(()))
    other = elsewhere(one)
    other.run()
    other.stop().work_ends().run()
    assert other.stopped.released
    assert holder_in(store) == ""
