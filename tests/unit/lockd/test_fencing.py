"""Guarded writes: what etcd is asked to check, and how its answers read."""

from __future__ import annotations

import pytest

from lockd.errors import Fenced
from lockd.fencing import Guard, GuardedReply, GuardedWrite, ObjectWrite, Token, WriteResult
from lockd.ports import Compare, Delete, Field, Get, GetReply, KeyValue, Put, PutReply, Txn, TxnReply

TERM = "/lockd/terms/kube-system/kube-scheduler"
GUARD = Guard(TERM, Token(32), b'{"holderIdentity":"a","acquisition":"x"}')
MINE = (Compare(TERM, Field.MOD, 32), Compare(TERM, Field.VALUE, GUARD.value))

BIND = ObjectWrite("/lockd/pods/default/web", 31, b"bound")
EVENT = ObjectWrite("/lockd/events/default/32-1", 0, b"Scheduled", lease=7)
DELETE = ObjectWrite("/lockd/pods/default/old", 20, None, riders=(Put("/lockd/events/default/32-2", b"Preempted"),))


def kv(key, revision=40):
    return KeyValue(key, b"as it stands", revision)


@pytest.mark.parametrize("revision", [0, -1])
def test_a_token_is_never_the_revision_of_an_absent_key(revision):
    with pytest.raises(ValueError, match="above 0"):
        Token(revision)


def test_a_token_is_a_revision():
    assert Token(1) == 1
    assert Token(33) > Token(32)


def test_the_guard_compares_the_term_by_revision_and_by_value():
    # By revision alone, a restored etcd that reuses it would let a deposed leader write (P1).
    assert GUARD.compares() == MINE


def test_each_object_stands_or_falls_by_its_own_revision():
    txn = GuardedWrite.of(GUARD, [BIND, EVENT]).txn()
    assert txn.compares == MINE
    assert txn.then == (
        Txn((Compare(BIND.key, Field.MOD, 31),), (Put(BIND.key, b"bound"),), (Get(BIND.key),)),
        Txn((Compare(EVENT.key, Field.MOD, 0),), (Put(EVENT.key, b"Scheduled", 7),), (Get(EVENT.key),)),
    )


def test_a_delete_carries_its_event():
    (nested,) = GuardedWrite.of(GUARD, [DELETE]).txn().then
    assert nested.then == (Delete(DELETE.key), *DELETE.riders)


def test_a_gang_is_one_nested_transaction():
    (nested,) = GuardedWrite(GUARD, ((BIND, EVENT),)).txn().then
    assert nested == Txn(
        (Compare(BIND.key, Field.MOD, 31), Compare(EVENT.key, Field.MOD, 0)),
        (Put(BIND.key, b"bound"), Put(EVENT.key, b"Scheduled", 7)),
        (Get(BIND.key), Get(EVENT.key)),
    )


def test_an_ended_term_reads_the_term_and_every_object():
    # Without the objects, a bind committed by an earlier copy would stay unknown.
    txn = GuardedWrite(GUARD, ((BIND, EVENT), (DELETE,))).txn()
    assert txn.otherwise == (Get(TERM), Get(BIND.key), Get(EVENT.key), Get(DELETE.key))


def test_the_transaction_is_the_same_each_time():
    write = GuardedWrite.of(GUARD, [BIND, DELETE])
    assert write.txn() == write.txn()


def test_an_applied_reply_tells_each_group_apart():
    reply = TxnReply(
        succeeded=True,
        revision=50,
        replies=(
            TxnReply(succeeded=True, revision=50, replies=(PutReply(),)),
            TxnReply(succeeded=False, revision=50, replies=(GetReply(kv(DELETE.key)),)),
        ),
    )
    assert GuardedWrite.of(GUARD, [BIND, DELETE]).judge(reply) == GuardedReply(
        fenced=False,
        revision=50,
        results=(WriteResult(applied=True), WriteResult(applied=False, objects=(kv(DELETE.key),))),
    )


def test_a_refused_guard_is_fenced_and_shows_the_objects():
    reply = TxnReply(
        succeeded=False,
        revision=60,
        replies=(GetReply(kv(TERM)), GetReply(kv(BIND.key)), GetReply(None), GetReply(kv(DELETE.key))),
    )
    assert GuardedWrite(GUARD, ((BIND, EVENT), (DELETE,))).judge(reply) == GuardedReply(
        fenced=True,
        revision=60,
        results=(
            WriteResult(applied=False, objects=(kv(BIND.key), None)),
            WriteResult(applied=False, objects=(kv(DELETE.key),)),
        ),
    )


def test_an_answer_of_another_shape_is_not_taken_for_success():
    write = GuardedWrite.of(GUARD, [BIND])
    with pytest.raises(TypeError, match="nested"):
        write.judge(TxnReply(succeeded=True, revision=50, replies=(PutReply(),)))
    with pytest.raises(TypeError, match="else branch"):
        write.judge(TxnReply(succeeded=False, revision=50, replies=(GetReply(kv(TERM)), PutReply())))


def test_the_error_names_the_token():
    error = GuardedWrite.of(GUARD, [BIND]).refuse()
    assert isinstance(error, Fenced)
    assert error.token == 32
