"""The lock's keys on etcd: transactions of an election, as etcd's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockd.errors import StoreError
from lockd.lock_watch import LockWatch
from lockd.ports import (
    Acquire,
    Applied,
    Compare,
    Failed,
    Field,
    Get,
    GetReply,
    KeyEvent,
    Put,
    Release,
    Seen,
    Txn,
    TxnReply,
    View,
)
from lockd.record import encode_history

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.ports import Call, KeyEvent, LockName, Op, Transaction


def to_txn(lock: LockName, transaction: Transaction, riders: tuple[Put, ...] = ()) -> Txn:
    """The same bytes each time, so that a copy is the same transaction."""
    as_known = Compare(lock.lease, Field.MOD, transaction.lease_revision)
    if isinstance(transaction, Acquire):
        term_is_so: tuple[Compare, ...] = (Compare(lock.term, Field.MOD, transaction.term_revision),)
    else:
        term_is_so = (
            Compare(lock.term, Field.MOD, transaction.token),
            Compare(lock.term, Field.VALUE, transaction.term.encode()),
        )
    puts: list[Op] = [Put(lock.lease, transaction.record.encode())]
    if isinstance(transaction, Acquire | Release):
        term = transaction.released if isinstance(transaction, Release) else transaction.term
        puts += [Put(lock.term, term.encode()), Put(lock.history, encode_history(transaction.history))]
    then, otherwise = (*puts, *riders), (Get(lock.lease), Get(lock.term))
    if isinstance(transaction, Release) and transaction.overtaken is not None:
        as_renewed = Compare(lock.lease, Field.VALUE, transaction.overtaken.encode())
        return Txn((as_known, *term_is_so), then, (Txn((as_renewed, *term_is_so), then, otherwise),))
    return Txn((as_known, *term_is_so), then, otherwise)


def to_view(reply: TxnReply) -> View:
    """Lease, term and, in a whole read, history."""
    seen = [_seen(one, reply.revision) for one in reply.replies]
    return View(reply.revision, seen[0], seen[1], seen[2] if len(seen) > 2 else None)


def _seen(reply: object, revision: int) -> Seen:
    if not isinstance(reply, GetReply):
        raise TypeError(f"expected a GetReply, not {type(reply).__name__}")
    return Seen(revision, None) if reply.kv is None else Seen(reply.kv.mod_revision, reply.kv.value)


def to_result(reply: TxnReply | StoreError) -> Applied | Failed:
    if isinstance(reply, StoreError):
        return Failed(reply)
    if not reply.succeeded and isinstance(reply.replies[0], TxnReply):  # the renewal came first
        return to_result(reply.replies[0])
    return Applied(succeeded=reply.succeeded, revision=reply.revision, view=None if reply.succeeded else to_view(reply))


def whole_read(lock: LockName) -> Txn:
    """A transaction without writes: etcd answers it linearizably, all of one revision."""
    return Txn((), (Get(lock.lease), Get(lock.term), Get(lock.history)))


class EtcdRecordStore:
    """A RecordStore on etcd.

    Args:
        gateway: The election's own, so that no load of others delays it.
    """

    def __init__(self, gateway: Gateway, lock: LockName, *, clock: Clock) -> None:
        self._gateway = gateway
        self._lock = lock
        self._clock = clock

    def read(self, done: Callable[[View | StoreError], None], *, timeout: float) -> Call:
        def arrived(reply: TxnReply | StoreError) -> None:
            done(reply if isinstance(reply, StoreError) else to_view(reply))

        return self._gateway.send(whole_read(self._lock), arrived, timeout=timeout)

    def send(
        self,
        transaction: Transaction,
        done: Callable[[Applied | Failed], None],
        *,
        copy: int,
        timeout: float,
        riders: tuple[Put, ...] = (),
    ) -> Call:
        def arrived(reply: TxnReply | StoreError) -> None:
            done(to_result(reply))

        txn = to_txn(self._lock, transaction, riders)
        if isinstance(transaction, Release) and copy:  # there is no time to try one member after the other
            members = len(self._gateway.connection.endpoints)
            return _All([self._gateway.send(txn, arrived, copy=each, timeout=timeout) for each in range(members)])
        return self._gateway.send(txn, arrived, copy=copy, timeout=timeout)

    def watch(self, sink: Callable[[KeyEvent | View], None]) -> Call:
        return LockWatch(self._gateway, self._lock, sink, self._clock).start()


class _All:
    """Several calls as one."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls

    def cancel(self) -> None:
        for call in self._calls:
            call.cancel()
