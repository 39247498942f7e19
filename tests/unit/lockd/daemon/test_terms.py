"""What a caller's token and acquisition are worth, on an etcd in memory."""

from __future__ import annotations

import threading

import grpc
import pytest

from lockd.daemon.refusals import Refusal
from lockd.daemon.terms import Standing, Terms
from lockd.ports import Acquire, LockName, Put, Renew, Seen, Txn
from lockd.record import HistoryEntry, LeaderRecord, TermValue, parse_history
from lockd.store import to_txn
from tests.harness.clock import ManualClock
from tests.harness.memory_gateway import MemoryGateway

LOCK = LockName("/lockd", "ns", "name")
SECRET = "the secret"  # noqa: S105 - a test's


@pytest.fixture
def etcd():
    made = MemoryGateway()
    made.put("/lockd/other", b"x")
    return made


@pytest.fixture
def terms(etcd):
    return Terms(etcd, clock=ManualClock(), stop=threading.Event())


@pytest.fixture
def token(etcd):
    record = LeaderRecord(holder_identity="a", lease_duration=15.0, renewal="a-0", fenced=False)
    acquire = Acquire(record, TermValue("a", SECRET), (HistoryEntry(identity="a"),), 0, 0)
    etcd._apply(to_txn(LOCK, acquire))
    return etcd.get(LOCK.term).mod_revision


def renew(etcd, token):
    record = LeaderRecord(holder_identity="a", lease_duration=15.0, renewal="a-1", fenced=False)
    etcd._apply(to_txn(LOCK, Renew(record, TermValue("a", SECRET), etcd.get(LOCK.lease).mod_revision, token)))


def refused(call, *args, **fields):
    with pytest.raises(Refusal) as caught:
        call(*args, **fields)
    return caught.value.code


def test_a_term_in_force_stands(terms, token):
    standing = terms.standing(LOCK, within=5.0)
    assert (standing.token, standing.holder) == (token, "a")
    standing.judge(token)


@pytest.mark.parametrize("ahead", [1, 10**12])
def test_a_token_that_was_never_given_out_is_out_of_range(terms, token, ahead):
    assert refused(terms.standing(LOCK, within=5.0).judge, token + ahead) is grpc.StatusCode.OUT_OF_RANGE


def test_so_is_any_of_a_lock_that_was_never_held(terms):
    assert refused(terms.standing(LOCK, within=5.0).judge, 1) is grpc.StatusCode.OUT_OF_RANGE


@pytest.mark.parametrize("token", [0, -1])
def test_none_is_invalid(token):
    assert refused(Standing.of(Seen(5, None), 5).judge, token) is grpc.StatusCode.INVALID_ARGUMENT


def test_a_claim_needs_token_and_acquisition(terms, token):
    claim, record = terms.claim(LOCK, token, SECRET, within=5.0)
    assert (claim.token, claim.term, record.holder_identity) == (token, TermValue("a", SECRET), "a")
    assert refused(terms.claim, LOCK, token, "guess", within=5.0) is grpc.StatusCode.PERMISSION_DENIED
    assert refused(terms.claim, LOCK, token, "", within=5.0) is grpc.StatusCode.PERMISSION_DENIED
    assert refused(terms.claim, LOCK, token - 1, SECRET, within=5.0) is grpc.StatusCode.FAILED_PRECONDITION
    assert refused(terms.claim, LOCK, token + 1, SECRET, within=5.0) is grpc.StatusCode.OUT_OF_RANGE


def test_a_resignation_releases(terms, etcd, token):
    assert terms.resign(LOCK, token, SECRET, within=5.0)
    assert LeaderRecord.parse(etcd.get(LOCK.lease).value).holder_identity == ""
    history = etcd.get(LOCK.history)
    assert [(e.token, e.reason) for e in parse_history(history.value, history.mod_revision)] == [(token, "released")]
    assert not terms.resign(LOCK, token, SECRET, within=5.0)


def test_one_without_the_acquisition_does_not(terms, etcd, token):
    before = etcd.space
    assert refused(terms.resign, LOCK, token, "guess", within=5.0) is grpc.StatusCode.PERMISSION_DENIED
    assert etcd.space == before


def test_a_renewal_in_between_delays_it_alone(terms, etcd, token):
    late = [token]

    def meanwhile(txn: Txn) -> None:
        if late and any(isinstance(op, Put) for op in txn.then):
            renew(etcd, late.pop())

    etcd.before = meanwhile
    assert terms.resign(LOCK, token, SECRET, within=5.0)
    assert etcd.get(LOCK.term).mod_revision > token


def test_a_lost_answer_to_a_release_does_not_hide_it(terms, etcd, token):
    def lose(txn: Txn) -> None:
        if any(isinstance(op, Put) for op in txn.then):
            etcd.before, etcd.lose = (lambda _: None), 1

    etcd.before = lose
    assert terms.resign(LOCK, token, SECRET, within=5.0)
