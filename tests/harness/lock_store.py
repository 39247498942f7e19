"""An etcd in memory, as far as a lock needs one: revisions, compares, nested transactions, tombstones, snapshots.

`Keyspace` is a value: applying a transaction gives the next one, so that a search can branch. `LockStore` is one etcd
over time: it keeps the log that a watch would deliver, and hands out flights, which are copies of a transaction on
their way: each may be applied now, later, never, or again and again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lockd.errors import Rejected
from lockd.ports import (
    Applied,
    Compare,
    Delete,
    DeleteReply,
    Field,
    Get,
    GetReply,
    KeyEvent,
    KeyValue,
    LockName,
    Put,
    PutReply,
    Seen,
    Txn,
    TxnReply,
    Which,
)
from lockd.store import to_result, to_txn, to_view, whole_read

if TYPE_CHECKING:
    from lockd.ports import Op, OpReply, Transaction, View

LOCK: Final = LockName("/lockd", "kube-system", "kube-scheduler")
LIMIT: Final = 128
"""Compares or operations at one level of a transaction."""


@dataclass(frozen=True, slots=True)
class Keyspace:
    """All keys at one revision. An empty etcd is at revision 1; what is absent has mod revision 0 and equals no value.

    Attributes:
        keys: Sorted by key.
    """

    revision: int = 1
    keys: tuple[KeyValue, ...] = ()

    def get(self, key: str) -> KeyValue | None:
        return next((kv for kv in self.keys if kv.key == key), None)

    def seen(self, key: str) -> Seen:
        """The key as a read at this revision shows it."""
        kv = self.get(key)
        return Seen(self.revision, None) if kv is None else Seen(kv.mod_revision, kv.value)

    def holds(self, compare: Compare) -> bool:
        kv = self.get(compare.key)
        match compare.field:
            case Field.MOD:
                return (kv.mod_revision if kv else 0) == compare.operand
            case Field.CREATE:
                return (kv.create_revision if kv else 0) == compare.operand
            case Field.VALUE:
                return kv is not None and kv.value == compare.operand

    def apply(self, txn: Txn) -> tuple[Keyspace, TxnReply]:
        """The next keyspace and the answer: all compares are judged first, then the chosen operations run in order.

        Raises:
            Rejected: One key is written twice, or a level is too long; nothing was applied.
        """
        _check(txn)
        chosen = _choose(self, txn)
        revision = self.revision + 1
        keys = {kv.key: kv for kv in self.keys}
        replies = _run(keys, chosen, revision)
        after = tuple(keys[key] for key in sorted(keys))
        if after == self.keys:
            revision = self.revision
        return Keyspace(revision, after), _answer(chosen, replies, revision)

    def guarded(self, compares: tuple[Compare, ...]) -> bool:
        """Would a write under these compares be applied?"""
        return all(self.holds(compare) for compare in compares)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A transaction whose branch is decided."""

    succeeded: bool
    ops: tuple[_Chosen | Put | Delete | Get, ...]


def _choose(space: Keyspace, txn: Txn) -> _Chosen:
    succeeded = all(space.holds(compare) for compare in txn.compares)
    ops = txn.then if succeeded else txn.otherwise
    return _Chosen(succeeded, tuple(_choose(space, op) if isinstance(op, Txn) else op for op in ops))


def _run(keys: dict[str, KeyValue], chosen: _Chosen, revision: int) -> list[object]:
    replies: list[object] = []
    for op in chosen.ops:
        match op:
            case Put(key, value, lease):
                old = keys.get(key)
                create, version = (old.create_revision, old.version) if old else (revision, 0)
                keys[key] = KeyValue(key, value, revision, create, version + 1, lease)
                replies.append(PutReply())
            case Delete(key):
                replies.append(DeleteReply(1 if keys.pop(key, None) else 0))
            case Get(key):
                replies.append(GetReply(keys.get(key)))
            case _Chosen():
                replies.append(_run(keys, op, revision))
    return replies


def _answer(chosen: _Chosen, replies: list[object], revision: int) -> TxnReply:
    found: list[OpReply] = []
    for op, reply in zip(chosen.ops, replies, strict=True):
        if isinstance(op, _Chosen) and isinstance(reply, list):
            found.append(_answer(op, reply, revision))
        elif isinstance(reply, PutReply | DeleteReply | GetReply):
            found.append(reply)
    return TxnReply(chosen.succeeded, revision, tuple(found))


def _check(txn: Txn) -> None:
    if max(len(txn.compares), len(txn.then), len(txn.otherwise)) > LIMIT:
        raise Rejected("too many operations in txn request", code="INVALID_ARGUMENT")
    for branch in (txn.then, txn.otherwise):
        _written(branch)


def _written(ops: tuple[Op, ...]) -> set[str]:
    """The keys that a branch may write; the two branches of one nested transaction exclude each other."""
    written: set[str] = set()
    for op in ops:
        match op:
            case Txn():
                _check(op)
                mine = _written(op.then) | _written(op.otherwise)
            case Put(key) | Delete(key):
                mine = {key}
            case _:
                mine = set()
        if written & mine:
            raise Rejected("duplicate key given in txn request", code="INVALID_ARGUMENT")
        written |= mine
    return written


@dataclass(slots=True)
class Flight:
    """Copies of one transaction on their way. Each `commit` is one of them reaching etcd.

    Attributes:
        answers: What etcd said to each, whether or not anybody was told.
    """

    store: LockStore
    transaction: Transaction
    riders: tuple[Put, ...] = ()
    answers: list[Applied] = field(default_factory=list)

    def commit(self) -> Applied:
        reply = self.store.txn(to_txn(self.store.lock, self.transaction, self.riders))
        answer = to_result(reply)
        assert isinstance(answer, Applied)
        self.answers.append(answer)
        return answer


@dataclass(slots=True)
class LockStore:
    """One etcd over time.

    Attributes:
        log: Each change of a key of the lock, as a watch delivers it.
    """

    lock: LockName = LOCK
    space: Keyspace = field(default_factory=Keyspace)
    log: list[KeyEvent] = field(default_factory=list)

    @property
    def revision(self) -> int:
        return self.space.revision

    def txn(self, txn: Txn) -> TxnReply:
        before = self.space
        self.space, reply = before.apply(txn)
        self._note(before)
        return reply

    def put(self, key: str, value: bytes) -> int:
        """Write past all rules, as a person with etcdctl can; the new revision."""
        return self.txn(Txn((), (Put(key, value),))).revision

    def delete(self, key: str) -> int:
        return self.txn(Txn((), (Delete(key),))).revision

    def view(self) -> View:
        """A whole, linearizable read."""
        return to_view(self.txn(whole_read(self.lock)))

    def send(self, transaction: Transaction, riders: tuple[Put, ...] = ()) -> Flight:
        return Flight(self, transaction, riders)

    def value(self, key: str) -> bytes | None:
        kv = self.space.get(key)
        return None if kv is None else kv.value

    def snapshot(self) -> Keyspace:
        return self.space

    def restore(self, snapshot: Keyspace) -> None:
        """Back to a snapshot, as `etcdctl snapshot restore` does: revisions go back, what came after is forgotten."""
        self.space = snapshot
        self.log = [event for event in self.log if event.seen.revision <= snapshot.revision]

    def _note(self, before: Keyspace) -> None:
        names = {
            self.lock.lease: Which.LEASE,
            self.lock.term: Which.TERM,
            self.lock.history: Which.HISTORY,
            self.lock.switchover: Which.SWITCHOVER,
        }
        old = {kv.key: kv for kv in before.keys}
        new = {kv.key: kv for kv in self.space.keys}
        for key in sorted(old.keys() | new.keys()):
            which = Which.CANDIDATE if key.startswith(self.lock.candidates) else names.get(key)
            if which is None or old.get(key) == new.get(key):
                continue
            kv = new.get(key)
            seen = Seen(self.revision, None) if kv is None else Seen(kv.mod_revision, kv.value)
            self.log.append(KeyEvent(which, key, seen))
