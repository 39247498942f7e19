"""An election's transactions as etcd's: what they compare, write and read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockd.errors import Unavailable
from lockd.ports import (
    Acquire,
    Applied,
    Compare,
    Failed,
    Field,
    Get,
    GetReply,
    KeyValue,
    LockName,
    Put,
    Release,
    Renew,
    Seen,
    Txn,
    TxnReply,
    View,
)
from lockd.record import HistoryEntry, LeaderRecord, TermValue, encode_history
from lockd.store import EtcdRecordStore, to_result, to_txn, to_view, whole_read
from tests.harness.clock import ManualClock

LOCK = LockName("/lockd", "ns", "name")
RECORD = LeaderRecord(holder_identity="a", lease_duration=15.0, renewal="n-1")
TERM = TermValue("a", "s-0")
HISTORY = (HistoryEntry(identity="a", takeover="first"),)

ACQUIRE = Acquire(RECORD, TERM, HISTORY, 7, 5)
RENEW = Renew(RECORD, TERM, 8, 6)
RELEASE = Release(replace(RECORD, holder_identity=""), TERM, TermValue("", "s-2"), HISTORY, 8, 6)

MINE = (
    Compare("/lockd/leases/ns/name", Field.MOD, 8),
    Compare("/lockd/terms/ns/name", Field.MOD, 6),
    Compare("/lockd/terms/ns/name", Field.VALUE, TERM.encode()),
)
BOTH = (Get(LOCK.lease), Get(LOCK.term))


def test_an_acquire_compares_both_keys_and_writes_three():
    txn = to_txn(LOCK, ACQUIRE)
    assert txn.compares == (Compare(LOCK.lease, Field.MOD, 7), Compare(LOCK.term, Field.MOD, 5))
    assert txn.then == (
        Put(LOCK.lease, RECORD.encode()),
        Put(LOCK.term, TERM.encode()),
        Put(LOCK.history, encode_history(HISTORY)),
    )
    assert txn.otherwise == BOTH


def test_a_renewal_compares_what_is_mine_and_writes_the_lease_alone():
    txn = to_txn(LOCK, RENEW)
    assert txn.compares == MINE
    assert txn.then == (Put(LOCK.lease, RECORD.encode()),)
    assert txn.otherwise == BOTH


def test_a_release_compares_what_is_mine_and_empties_both_keys():
    rider = Put("/lockd/events/ns/6-9", b"stopped leading")
    txn = to_txn(LOCK, RELEASE, (rider,))
    assert txn.compares == MINE
    assert txn.then == (
        Put(LOCK.lease, RELEASE.record.encode()),
        Put(LOCK.term, TermValue("", "s-2").encode()),
        Put(LOCK.history, encode_history(HISTORY)),
        rider,
    )
    assert txn.otherwise == BOTH


OVERTAKES = replace(RELEASE, overtaken=replace(RECORD, renewal="n-2"))


def test_a_release_that_overtakes_a_renewal_is_the_same_after_it():
    rider = Put("/lockd/events/ns/6-9", b"stopped leading")
    txn = to_txn(LOCK, OVERTAKES, (rider,))
    alone = to_txn(LOCK, RELEASE, (rider,))
    assert (txn.compares, txn.then) == (alone.compares, alone.then)
    renewed = Compare(LOCK.lease, Field.VALUE, OVERTAKES.overtaken.encode())
    assert txn.otherwise == (Txn((renewed, *MINE[1:]), alone.then, BOTH),)


def test_it_succeeded_in_either_branch():
    inner = TxnReply(succeeded=True, revision=20, replies=())
    assert to_result(TxnReply(succeeded=False, revision=20, replies=(inner,))) == Applied(succeeded=True, revision=20)
    inner = TxnReply(succeeded=False, revision=20, replies=(found(LOCK.lease, 12), GetReply(None)))
    assert to_result(TxnReply(succeeded=False, revision=20, replies=(inner,))) == to_result(inner)


@pytest.mark.parametrize("transaction", [ACQUIRE, RENEW, RELEASE, OVERTAKES])
def test_a_copy_is_the_same_transaction(transaction):
    assert to_txn(LOCK, transaction) == to_txn(LOCK, transaction)


def found(key, revision):
    return GetReply(KeyValue(key, b"value", revision))


def test_a_refused_transaction_shows_both_keys_at_their_own_revisions():
    reply = TxnReply(succeeded=False, revision=20, replies=(found(LOCK.lease, 12), GetReply(None)))
    assert to_result(reply) == Applied(
        succeeded=False, revision=20, view=View(20, Seen(12, b"value"), Seen(20, None), None)
    )


def test_one_that_succeeded_has_no_view():
    assert to_result(TxnReply(succeeded=True, revision=20, replies=())) == Applied(succeeded=True, revision=20)


def test_an_error_settles_nothing():
    error = Unavailable("gone")
    assert to_result(error) == Failed(error)


def test_a_whole_read_has_the_history_too():
    assert whole_read(LOCK).then == (*BOTH, Get(LOCK.history))
    assert not whole_read(LOCK).compares
    replies = (found(LOCK.lease, 3), found(LOCK.term, 2), found(LOCK.history, 2))
    view = to_view(TxnReply(succeeded=True, revision=9, replies=replies))
    assert view == View(9, Seen(3, b"value"), Seen(2, b"value"), Seen(2, b"value"))


class Members:
    """A gateway to three members that keeps what it is given."""

    class connection:  # noqa: N801 - named as the gateway's attribute
        endpoints = ("a:1", "b:1", "c:1")

    def __init__(self):
        self.sent = []
        self.cancelled = []

    def send(self, txn, done, *, copy=0, timeout):
        self.sent.append((txn, copy, timeout))
        owner = self

        class Call:
            def cancel(self):
                owner.cancelled.append(copy)

        return Call()


def test_a_release_goes_to_one_member_and_then_to_all_at_once():
    gateway = Members()
    store = EtcdRecordStore(gateway, LOCK, clock=ManualClock())
    store.send(RELEASE, lambda _: None, copy=0, timeout=0.5).cancel()
    assert [copy for _, copy, _ in gateway.sent] == gateway.cancelled == [0]
    store.send(RELEASE, lambda _: None, copy=1, timeout=0.5).cancel()
    assert [copy for _, copy, _ in gateway.sent] == gateway.cancelled == [0, 0, 1, 2]
    assert len({id(txn) for txn, _, _ in gateway.sent[1:]}) == 1


def test_a_renewal_goes_to_one():
    gateway = Members()
    store = EtcdRecordStore(gateway, LOCK, clock=ManualClock())
    store.send(RENEW, lambda _: None, copy=2, timeout=0.5)
    assert [(copy, timeout) for _, copy, timeout in gateway.sent] == [(2, 0.5)]
