"""The gateway to etcd: thin, typed, thread-safe; a deadline on every call and an error class for every failure."""

from __future__ import annotations

import os
import secrets
import threading
import zlib
from typing import TYPE_CHECKING, Any, Final

from component.clock import SystemClock
from lockd.errors import Compacted, LeaseNotFound, Rejected, StoreError, Unavailable
from lockd.etcd import model
from lockd.etcd.calls import Caller, Request, status_request
from lockd.etcd.channel import (
    COMPACT,
    LEASE_GRANT,
    LEASE_KEEPALIVE,
    LEASE_REVOKE,
    RANGE,
    TXN,
    Channels,
)
from lockd.etcd.classify import TIMED_OUT, never_connected
from lockd.etcd.picker import Picker
from lockd.etcd.retry import persist
from lockd.etcd.stream import Pace
from lockd.etcd.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from component.clock import Clock
    from component.lifecycle import Group
    from lockd.etcd.auth import Authenticator
    from lockd.etcd.channel import Method
    from lockd.etcd.connection import Connection
    from lockd.etcd.model import Listing, MemberStatus, RangeReply, WatchItem, WatchTarget
    from lockd.etcd.witness import Witness
    from lockd.ports import Call, KeyValue, Txn, TxnReply

_CLOCK: Final = SystemClock()
_PACE: Final = Pace()
_LEASE_IDS: Final = 2**63 - 1


class Gateway:
    """etcd for one purpose, on connections of its own.

    Reads, and calls that may be repeated without harm, are tried on one member after the other until their timeout.
    A transaction is sent once, to one member: `lockd.etcd.retry.settle` repeats it.

    Every method raises StoreError classes: Unavailable (no effect; names the endpoints), OutcomeUnknown (`txn`
    only), Rejected and its kinds, HistoryLost.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        purpose: str,
        witness: Witness,
        clock: Clock = _CLOCK,
        first: int | None = None,
    ) -> None:
        """Make no connection yet.

        Args:
            purpose: Names the channels, such as `election`.
            witness: One for the whole process.
            first: The place of the member preferred while all are well; by default it differs among processes and
                purposes, which spreads their load.

        Raises:
            ConfigError: A TLS file can't be used.
        """
        self.connection = connection
        self.purpose = purpose
        self._witness = witness
        self._clock = clock
        self._first = os.getpid() + zlib.crc32(purpose.encode()) if first is None else first
        self.caller = self._make_caller(purpose)
        self._lock = threading.Lock()
        self._watcher: Caller | None = None
        self._watches: list[Watch] = []
        self._closing = threading.Event()

    def range(
        self,
        key: str,
        *,
        prefix: bool = False,
        start: str = "",
        revision: int = 0,
        limit: int = 0,
        keys_only: bool = False,
        serializable: bool = False,
        timeout: float,
    ) -> RangeReply:
        """Read a key, or all keys that begin with it.

        Args:
            start: The first key to read of those with the prefix.
            revision: Of the past to read; 0 for now.
            serializable: Take one member's word, which may be stale: never for a decision.

        Raises:
            Compacted: `revision` is gone.
        """
        first, end = model.key_range(key, prefix=prefix)
        message = RANGE.request(
            key=model.encode_key(start) or first,
            range_end=end,
            revision=revision,
            limit=limit,
            keys_only=keys_only,
            serializable=serializable,
        )
        return model.range_reply(
            self._persist(RANGE, message, timeout, linearizable=not serializable, alone=serializable)
        )

    def list(
        self, prefix: str, *, page: int = 5000, revision: int = 0, keys_only: bool = False, timeout: float
    ) -> Listing:
        """Read all keys that begin with `prefix`, `page` at a time, all as of one revision.

        Args:
            start: The first key to read of those with the prefix.
            revision: Of the past to read, such as that of another list; 0 for the first page's.
            keys_only: Leave the values out.

        Raises:
            Compacted: History was compacted past that revision in the meantime.
        """
        end = self._clock.now() + timeout
        start, stop = model.key_range(prefix, prefix=True)
        found: list[KeyValue] = []
        more = True
        while more:
            message = RANGE.request(key=start, range_end=stop, revision=revision, limit=page, keys_only=keys_only)
            reply = model.range_reply(self._persist(RANGE, message, end - self._clock.now()))
            found.extend(reply.kvs)
            revision = revision or reply.revision
            more = reply.more and bool(reply.kvs)
            if more:
                start = model.encode_key(reply.kvs[-1].key) + b"\0"
        return model.Listing(tuple(found), revision)

    def txn(self, txn: Txn, *, timeout: float, copy: int = 0) -> TxnReply:
        """Send one copy of a transaction and wait for its reply.

        Raises:
            Unavailable: This copy had no effect.
            OutcomeUnknown: It may have been applied, or may still be.
            Rejected: This copy had no effect. NoSpace, TooLarge, LeaseNotFound and others tell why.
        """
        response = self.caller.call(self._txn_request(txn, timeout, copy))
        return model.txn_reply(response, response.header.revision)

    def send(self, txn: Txn, done: Callable[[TxnReply | StoreError], None], *, copy: int = 0, timeout: float) -> Call:
        """Send one copy of a transaction and return at once.

        Args:
            done: Gets the reply or the error, exactly once, from a thread of gRPC's: it must not block. After
                `cancel` it gets an error as well.
            copy: Its number; each copy goes to another member than those before, where there is one.
            timeout: Seconds after which this copy is given up; it may still be applied.
        """

        def arrived(response: Any) -> None:
            if isinstance(response, StoreError):
                done(response)
            else:
                done(model.txn_reply(response, response.header.revision))

        return self.caller.send(self._txn_request(txn, timeout, copy), arrived)

    def lease_grant(self, ttl: int, *, timeout: float) -> int:
        """Grant an etcd lease of `ttl` seconds and give its id. etcd raises a short one to its minimum, about 2 s."""
        lease = secrets.randbelow(_LEASE_IDS) + 1  # ours, so that a repeated grant is known as such
        try:
            self._persist(LEASE_GRANT, LEASE_GRANT.request(TTL=ttl, ID=lease), timeout, linearizable=False)
        except Rejected as error:
            if "lease already exists" not in str(error):
                raise
        return lease

    def lease_keepalive(self, lease: int, *, timeout: float) -> int:
        """Renew an etcd lease and give the seconds it has then; 0: it is gone."""
        # A stream of one request: for that a member answers like a method without streams.
        response = self._persist(LEASE_KEEPALIVE, LEASE_KEEPALIVE.request(ID=lease), timeout, linearizable=False)
        return max(0, int(response.TTL))

    def lease_revoke(self, lease: int, *, timeout: float) -> None:
        """Revoke an etcd lease, and delete its keys; done as well if it is gone already."""
        try:
            self._persist(LEASE_REVOKE, LEASE_REVOKE.request(ID=lease), timeout, linearizable=False)
        except LeaseNotFound:
            return

    def compact(self, revision: int, *, timeout: float) -> None:
        """Forget all history before `revision`; done as well if it is gone already."""
        try:
            self._persist(COMPACT, COMPACT.request(revision=revision), timeout, linearizable=False)
        except Compacted:
            return

    def status(self, endpoint: str, *, timeout: float) -> MemberStatus:
        """Ask one member how it is; not tried again."""
        return model.member_status(endpoint, self.caller.call(status_request(endpoint, timeout)))

    def watch(
        self,
        targets: Sequence[WatchTarget],
        sink: Callable[[WatchItem], None],
        *,
        group: Group | None = None,
        pace: Pace = _PACE,
    ) -> Watch:
        """Follow a few targets on one stream, on connections apart from those of calls, until closed.

        Args:
            sink: Gets each item in the watch's own thread; what it raises ends the watch and fails the group.
            group: Owns the thread, and ends it; by default the watch has a group of its own, and `close` ends it.
            pace: When to ask for a sign of life, and when to open the stream again on another member.
        """
        watch = Watch(self._watching(), targets, sink, pace)
        with self._lock:
            self._watches.append(watch)
        watch.start(group)
        return watch

    def close(self) -> None:
        """End all calls, watches and connections."""
        self._closing.set()
        with self._lock:
            watches, watcher = tuple(self._watches), self._watcher
        for watch in watches:
            watch.cancel()
        for watch in watches:
            watch.close()
        if watcher is not None:
            watcher.channels.close()
        self.caller.channels.close()

    def _watching(self) -> Caller:
        """The caller for watches, on channels of its own."""
        with self._lock:
            self._watches = [watch for watch in self._watches if watch.running]
            if self._watcher is None:
                self._watcher = self._make_caller(f"{self.purpose}-watch", self.caller.auth)
            return self._watcher

    def _make_caller(self, purpose: str, auth: Authenticator | None = None) -> Caller:
        return Caller(
            self.connection,
            Channels(self.connection, purpose=purpose),
            Picker(self.connection.endpoints, first=self._first),
            witness=self._witness,
            clock=self._clock,
            auth=auth,
        )

    def _txn_request(self, txn: Txn, timeout: float, copy: int) -> Request:
        return Request(
            method=TXN,
            message=model.txn_request(txn),
            write=model.writes(txn),
            linearizable=True,
            timeout=timeout,
            copy=copy,
        )

    def _persist(
        self, method: Method, message: Any, timeout: float, *, linearizable: bool = True, alone: bool = False
    ) -> Any:
        """Call until answered; `alone`: a member without a leader may answer."""
        reasons: dict[str, str] = {}

        def once(attempt: int, seconds: float) -> Any:
            request = Request(
                method=method,
                message=message,
                write=False,  # in the sense that it may be repeated
                linearizable=linearizable,
                timeout=seconds,
                copy=attempt,
                needs_leader=not alone,
            )
            try:
                return self.caller.call(request)
            except Unavailable as error:
                reasons[error.endpoint] = str(error).removeprefix(f"{error.operation} of ")
                raise

        endpoints = self.connection.endpoints
        try:
            return persist(once, clock=self._clock, stop=self._closing, within=timeout, members=len(endpoints))
        except Unavailable as error:
            raise Unavailable(
                f"no answer from etcd at {', '.join(endpoints)} within {timeout:.3g} s ({'; '.join(reasons.values())})",
                operation=error.operation,
                endpoint=error.endpoint,
                code=error.code if all(map(never_connected, reasons.values())) else TIMED_OUT,
            ) from error
