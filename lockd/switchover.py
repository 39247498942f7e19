"""A user's wish that the present term ends: written by compare-and-swap with its token, and followed to its end."""

from __future__ import annotations

import json
import queue
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from component.clock import LONGEST_WAIT
from lockd.errors import HistoryLost, StoreError
from lockd.etcd.retry import settle
from lockd.ports import Compare, Field, Get, GetReply, Put, Txn, View
from lockd.record import LeaderRecord
from lockd.store import EtcdRecordStore

if TYPE_CHECKING:
    import threading

    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.ports import KeyEvent, KeyValue, LockName, TxnReply

ATTEMPT: Final = 1.0
"""Seconds before the next copy of the wish goes to another member, and between two reads while its end is awaited."""


@dataclass(frozen=True, slots=True)
class Term:
    """The term in force: who holds the lock, and by which token."""

    holder: str
    token: int
    value: bytes


@dataclass(frozen=True, slots=True)
class _Present:
    """The lock as of one revision."""

    term: Term | None
    wish_revision: int


def wish(
    gateway: Gateway,
    lock: LockName,
    *,
    candidate: str = "",
    token: int = 0,
    clock: Clock,
    stop: threading.Event,
    within: float,
) -> Term | None:
    """Ask the present holder to give the lock back.

    The wish names its token: it is for this term and no other, whenever the holder reads it.

    Args:
        candidate: Who is to follow; "" for anyone.
        token: Of the term that is meant; 0 for the one in force, whichever that is.

    Returns:
        The term that is asked to end; None when nobody holds the lock, or not by this token: nothing was written then.

    Raises:
        OutcomeUnknown: The wish may have been written, or may still be.
        StoreError: etcd didn't answer, or refused.
    """
    end = clock.now() + within
    while True:
        present = _read(gateway.txn(_look(lock), timeout=max(end - clock.now(), 0.01)))
        term = present.term
        if term is None or token not in (0, term.token):
            return None
        document = json.dumps({"candidate": candidate, "token": term.token}, separators=(",", ":"))
        compares = (
            Compare(lock.term, Field.MOD, term.token),
            Compare(lock.term, Field.VALUE, term.value),
            Compare(lock.switchover, Field.MOD, present.wish_revision),
        )
        txn = Txn(compares, (Put(lock.switchover, document.encode()),), (Get(lock.switchover),))
        reply = settle(gateway, txn, clock=clock, stop=stop, attempt=ATTEMPT, within=max(end - clock.now(), 0.01))
        if reply.succeeded or _value(reply.replies[0]) == document.encode():  # an earlier copy wrote it
            return term


def await_end(
    gateway: Gateway, lock: LockName, term: Term, *, clock: Clock, stop: threading.Event, within: float
) -> bool:
    """Wait until the term has ended; False when it goes on.

    Raises:
        HistoryLost: etcd was restored or exchanged.
    """
    store = EtcdRecordStore(gateway, lock, clock=clock)
    inbox: queue.SimpleQueue[KeyEvent | View | StoreError] = queue.SimpleQueue()
    end = clock.now() + within
    watch = store.watch(inbox.put)
    read_at = clock.now()
    try:
        while (now := clock.now()) < end and not stop.is_set():
            if now >= read_at:  # whatever the watch misses
                store.read(inbox.put, timeout=end - now)
                read_at = now + ATTEMPT
            try:
                seen = inbox.get(timeout=min(end - now, LONGEST_WAIT, read_at - now))
            except queue.Empty:
                continue
            if isinstance(seen, HistoryLost):
                raise seen
            if isinstance(seen, StoreError):
                continue
            state = seen.term if isinstance(seen, View) else seen.seen if seen.key == lock.term else None
            if state is not None and (state.revision > term.token or state.value is None):
                return True
    finally:
        watch.cancel()
    return False


def _look(lock: LockName) -> Txn:
    return Txn((), (Get(lock.lease), Get(lock.term), Get(lock.switchover)))


def _read(reply: TxnReply) -> _Present:
    lease, term, wished = map(_kv, reply.replies)
    record = LeaderRecord.parse(lease.value) if lease is not None else None
    held = record is not None and record.holder_identity and term is not None
    return _Present(
        Term(record.holder_identity, term.mod_revision, term.value) if held and record and term else None,
        wished.mod_revision if wished is not None else 0,
    )


def _kv(reply: object) -> KeyValue | None:
    if not isinstance(reply, GetReply):
        raise TypeError(f"expected a GetReply, not {type(reply).__name__}")
    return reply.kv


def _value(reply: object) -> bytes | None:
    kv = _kv(reply)
    return kv.value if kv is not None else None
