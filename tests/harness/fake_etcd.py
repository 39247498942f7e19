"""etcd in memory: keys with revisions, transactions, watches, compaction; the surface of `lockd.etcd.Gateway`.

Watches deliver in the thread that writes, unless they are held. Failures are what a test says they are.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from lockd.errors import Compacted, LeaseNotFound, Rejected, StoreError
from lockd.etcd.model import Listing, RangeReply, WatchBatch, WatchCompacted, WatchEvent, WatchInterrupted
from lockd.ports import (
    Compare,
    Delete,
    DeleteReply,
    Field,
    Get,
    GetReply,
    KeyValue,
    Put,
    PutReply,
    Txn,
    TxnReply,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lockd.etcd.model import WatchItem, WatchTarget
    from lockd.ports import Op, OpReply


@dataclass(frozen=True)
class _Choice:
    """A transaction with the branch it takes, decided before anything is written."""

    succeeded: bool
    steps: tuple[Op | _Choice, ...]


class FakeCall:
    """A call that was answered before it could be cancelled."""

    def cancel(self) -> None:
        return


class FakeWatch:
    """A watch of one target.

    Attributes:
        reopened: How often it was asked to go to another member; a held one is let go by that when `lagging`.
    """

    def __init__(self, target: WatchTarget, sink: Callable[[WatchItem], None]) -> None:
        self.target = target
        self.reopened = 0
        self.lagging = False
        self.cancelled = False
        self._sink = sink
        self._held: deque[WatchItem] | None = None
        self._lock = threading.RLock()

    def deliver(self, item: WatchItem) -> None:
        with self._lock:
            if self.cancelled:
                return
            if self._held is not None:
                self._held.append(item)
            else:
                self._sink(item)

    def hold(self) -> None:
        """Keep back what comes, as a member does that lags behind."""
        with self._lock:
            self._held = deque()

    def release(self) -> None:
        """Deliver what was kept back, and the rest as it comes."""
        with self._lock:
            held, self._held = self._held or deque(), None
            for item in held:
                self.deliver(item)

    def drop(self) -> None:
        """Throw away what was kept back, and deliver the rest as it comes."""
        with self._lock:
            self._held = None

    def reopen(self) -> None:
        self.reopened += 1
        if self.lagging:
            self.lagging = False
            self.release()

    def cancel(self) -> None:
        with self._lock:
            self.cancelled = True

    def close(self, seconds: float = 2.0) -> bool:
        self.cancel()
        return True


class FakeEtcd:
    """A store of keys with revisions.

    Attributes:
        failure: Raised by every read, write and grant while it is set.
        lists: Ranges of a whole prefix served so far.
        watches: All that were opened, the cancelled ones too.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._revision = 1
        self._compacted = 0
        self._now: dict[str, KeyValue] = {}
        self._log: list[WatchEvent] = []
        self._leases: set[int] = set()
        self._lease_ids = count(1)
        self.failure: StoreError | None = None
        self.lists = 0
        self.watches: list[FakeWatch] = []

    @property
    def revision(self) -> int:
        with self._lock:
            return self._revision

    @property
    def watch_now(self) -> FakeWatch:
        """The latest watch."""
        return self.watches[-1]

    # --- what tests do

    def put(self, key: str, value: bytes) -> int:
        """Write a key unconditionally; returns the revision."""
        return self.txn(Txn((), (Put(key, value),)), timeout=1).revision

    def put_all(self, values: Iterable[tuple[str, bytes]]) -> int:
        """Write many keys at one revision."""
        return self.txn(Txn((), tuple(Put(key, value) for key, value in values)), timeout=1).revision

    def delete(self, key: str) -> int:
        return self.txn(Txn((), (Delete(key),)), timeout=1).revision

    def get(self, key: str) -> KeyValue | None:
        with self._lock:
            return self._now.get(key)

    def interrupt(self, error: StoreError) -> None:
        """Tell the latest watch that its stream broke; it goes on when something is written."""
        self.watch_now.deliver(WatchInterrupted(error))

    def lose(self, key: str) -> None:
        """Delete a key without telling any watch: etcd 3.4 can do that when it compacts."""
        with self._lock:
            del self._now[key]
            self._revision += 1

    # --- the gateway's surface

    def range(
        self,
        key: str,
        *,
        prefix: bool = False,
        revision: int = 0,
        limit: int = 0,
        keys_only: bool = False,
        serializable: bool = False,
        timeout: float,
    ) -> RangeReply:
        with self._lock:
            self._fail()
            found = [
                KeyValue(kv.key, b"", kv.mod_revision, kv.create_revision, kv.version, kv.lease) if keys_only else kv
                for name, kv in sorted(self._at(revision).items())
                if name == key or (prefix and name.startswith(key))
            ]
            kept = found[:limit] if limit else found
            return RangeReply(tuple(kept), len(found), len(kept) < len(found), self._revision)

    def list(
        self, prefix: str, *, page: int = 5000, revision: int = 0, keys_only: bool = False, timeout: float
    ) -> Listing:
        with self._lock:
            reply = self.range(prefix, prefix=True, revision=revision, keys_only=keys_only, timeout=timeout)
            self.lists += 1
            return Listing(reply.kvs, revision or reply.revision)

    def txn(self, txn: Txn, *, timeout: float, copy: int = 0) -> TxnReply:
        with self._lock:
            self._fail()
            self._validate(txn, set())
            choice = self._choose(txn)
            events: list[WatchEvent] = []
            reply = self._perform(choice, events)
            if events:
                self._revision += 1
                self._log.extend(events)
                for watch in tuple(self.watches):
                    self._notify(watch, events)
            return reply

    def send(
        self, txn: Txn, done: Callable[[TxnReply | StoreError], None], *, copy: int = 0, timeout: float
    ) -> FakeCall:
        try:
            done(self.txn(txn, timeout=timeout, copy=copy))
        except StoreError as error:
            done(error)
        return FakeCall()

    def watch(self, targets: Sequence[WatchTarget], sink: Callable[[WatchItem], None]) -> FakeWatch:
        with self._lock:
            (target,) = targets
            watch = FakeWatch(target, sink)
            self.watches.append(watch)
            if target.start_revision and target.start_revision < self._compacted:
                watch.deliver(WatchCompacted(target, self._compacted))
                return watch
            missed: dict[int, list[WatchEvent]] = {}
            for event in self._log:
                if event.mod_revision >= target.start_revision > 0:
                    missed.setdefault(event.mod_revision, []).append(event)
            for events in missed.values():
                self._notify(watch, events)
            return watch

    def compact(self, revision: int, *, timeout: float) -> None:
        """Forget history below `revision`; live watches that had seen it are not concerned."""
        with self._lock:
            self._compacted = max(self._compacted, revision)

    def break_watch(self) -> None:
        """End the latest watch's stream and compact what it misses meanwhile: it can't resume."""
        with self._lock:
            watch = self.watch_now
            watch.deliver(WatchCompacted(watch.target, self._revision))
            watch.cancelled = True

    def lease_grant(self, ttl: int, *, timeout: float) -> int:
        with self._lock:
            self._fail()
            lease = next(self._lease_ids)
            self._leases.add(lease)
            return lease

    def lease_revoke(self, lease: int, *, timeout: float) -> None:
        with self._lock:
            self._leases.discard(lease)
            for key in [key for key, kv in self._now.items() if kv.lease == lease]:
                self.delete(key)

    def close(self) -> None:
        for watch in self.watches:
            watch.cancel()

    # --- inside

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure

    def _at(self, revision: int) -> dict[str, KeyValue]:
        if not revision or revision >= self._revision:
            return self._now
        if revision < self._compacted:
            raise Compacted("required revision has been compacted", compact_revision=self._compacted)
        state: dict[str, KeyValue] = {}
        for event in self._log:
            if event.mod_revision > revision:
                break
            if event.value is None:
                state.pop(event.key, None)
            else:
                state[event.key] = KeyValue(
                    event.key, event.value, event.mod_revision, event.create_revision, event.version, event.lease
                )
        return state

    def _notify(self, watch: FakeWatch, events: Sequence[WatchEvent]) -> None:
        target = watch.target
        seen = tuple(
            event
            for event in events
            if event.key == target.key
            or (target.prefix and event.key.startswith(target.key) and event.key >= target.start)
        )
        if seen:
            watch.deliver(WatchBatch(target, seen, seen[-1].mod_revision))

    def _holds(self, compare: Compare) -> bool:
        kv = self._now.get(compare.key)
        if compare.field is Field.VALUE:
            return kv is not None and kv.value == compare.operand
        revision = 0 if kv is None else kv.mod_revision if compare.field is Field.MOD else kv.create_revision
        return revision == compare.operand

    def _choose(self, txn: Txn) -> _Choice:
        succeeded = all(self._holds(compare) for compare in txn.compares)
        branch = txn.then if succeeded else txn.otherwise
        return _Choice(succeeded, tuple(self._choose(op) if isinstance(op, Txn) else op for op in branch))

    def _validate(self, txn: Txn, seen: set[str]) -> None:
        """Refuse what etcd refuses before it looks at any key; of two branches, each may put the same key."""
        for branch in (txn.otherwise, txn.then):
            here = seen if branch is txn.then else set(seen)
            for op in branch:
                if isinstance(op, Txn):
                    self._validate(op, here)
                elif isinstance(op, Put):
                    if op.key in here:
                        raise Rejected("duplicate key given in txn request", code="INVALID_ARGUMENT")
                    if op.lease and op.lease not in self._leases:
                        raise LeaseNotFound("requested lease not found", code="NOT_FOUND")
                    here.add(op.key)

    def _perform(self, choice: _Choice, events: list[WatchEvent]) -> TxnReply:
        replies: list[OpReply] = [
            self._perform(step, events) if isinstance(step, _Choice) else self._do(step, events)
            for step in choice.steps
        ]
        return TxnReply(choice.succeeded, self._revision + bool(events), tuple(replies))

    def _do(self, op: Op, events: list[WatchEvent]) -> OpReply:
        if isinstance(op, Get):
            return GetReply(self._now.get(op.key))
        revision = self._revision + 1
        known = self._now.get(op.key)
        if isinstance(op, Delete):
            if known is None:
                return DeleteReply(0)
            del self._now[op.key]
            events.append(WatchEvent(op.key, None, revision))
            return DeleteReply(1)
        if not isinstance(op, Put):
            raise TypeError(f"{op} is no operation")
        kv = KeyValue(
            op.key,
            op.value,
            revision,
            revision if known is None else known.create_revision,
            1 if known is None else known.version + 1,
            op.lease,
        )
        self._now[op.key] = kv
        events.append(WatchEvent(kv.key, kv.value, revision, kv.create_revision, kv.version, kv.lease))
        return PutReply()
