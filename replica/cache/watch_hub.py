"""The watch hub: one list and one watch over the prefix, as far as it is read, for all caches of the process."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Final, Protocol

from component import logs, memory
from component.backoff import Backoff
from component.clock import SystemClock
from lockd.errors import Compacted, HistoryLost, PermissionDenied, StoreError
from lockd.etcd.model import WatchBatch, WatchCompacted, WatchInterrupted, WatchTarget
from replica.cache.inbox import Inbox
from replica.cache.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from component.clock import Clock
    from lockd.etcd.model import Listing, RangeReply, WatchEvent, WatchItem
    from lockd.ports import KeyValue
    from replica.cache.barrier import Barrier

_log = logs.get(__name__)

PAGE: Final = 5000
"""Keys listed by one request."""

LIST_SECONDS: Final = 30.0
HEAD_SECONDS: Final = 1.0

FAR_BEHIND: Final = 2000
"""Revisions: etcd replays about 2,000 events a second, and lists tens of thousands of keys in less."""

CHECK: Final = 1.0
"""Seconds between two looks at how far behind a watch is that was interrupted."""

ELECTION: Final = "history"
"""The first segment of those in which a term shows: `history`, `leases`, `terms`."""

_RETRY: Final = Backoff(initial=0.1, maximum=2.0, jitter=0.5)


class Watching(Protocol):
    """A watch in progress."""

    def reopen(self) -> None:
        """Leave the member it is on for another, and resume there."""
        ...

    def cancel(self) -> None: ...

    def close(self, seconds: float = 2.0) -> bool: ...


class Source(Protocol):
    """What the hub needs of a gateway."""

    def range(
        self, key: str, *, prefix: bool = False, limit: int = 0, keys_only: bool = False, timeout: float
    ) -> RangeReply: ...

    def list(
        self, prefix: str, *, page: int = PAGE, revision: int = 0, keys_only: bool = False, timeout: float
    ) -> Listing: ...

    def watch(self, targets: Sequence[WatchTarget], sink: Callable[[WatchItem], None]) -> Watching: ...


class Route(Protocol):
    """Where the keys of one segment (`pods`, `nodes`, `terms` ...) go. Called from the hub's thread: must not block."""

    def replace(self, kvs: Sequence[KeyValue], revision: int) -> None:
        """All keys of the segment, as listed at `revision`."""
        ...

    def apply(self, events: Sequence[WatchEvent]) -> None:
        """Changes, in revision order."""
        ...

    def mark(self, revision: int) -> None:
        """All changes up to `revision`, of whatever segment, have been given."""
        ...


class WatchHub:
    """Keeps one watch over the prefix and hands what it brings to the routes, with a marker of how far it has come.

    The marker's revision is that of the last complete response's last event, of a completed list, or of progress where
    the server's can be relied on. Keys before all that are of use, such as events, of which there is one for each pod,
    are not watched: what is written there moves no marker; the leader's renewals do. After a compaction, and when it is
    far behind, the hub lists anew; the caches stay as they are until then, and go on being read while etcd is away.
    """

    def __init__(
        self,
        source: Source,
        prefix: str,
        barrier: Barrier,
        *,
        clock: Clock | None = None,
        inbox: Inbox | None = None,
        far_behind: int = FAR_BEHIND,
    ) -> None:
        self._source = source
        self._base = f"{prefix}/"
        self._clock = clock or SystemClock()
        self._consumer = barrier.join("hub")
        self._inbox = inbox or Inbox()
        self._pace = Pace()
        self._far_behind = far_behind
        self._routes: dict[str, Route] = {}
        self._watch: Watching | None = None
        self._lock = threading.Lock()
        self._relist = ""
        self._trouble = ""
        self._since = 0.0
        self._unsure = False
        """The watch was interrupted, and how far behind it is is not known yet."""
        self._applied = 0
        self.lists = 0
        """Lists completed so far."""

    def route(self, segment: str, route: Route) -> None:
        """Hand the keys under `<prefix>/<segment>/` to `route`. To be called before the hub runs.

        Raises:
            ValueError: The segment has a route.
        """
        if segment in self._routes:
            raise ValueError(f"{segment} has a route already")
        self._routes[segment] = route

    @property
    def applied(self) -> int:
        """Everything up to this revision has been handed to the routes."""
        return self._applied

    @property
    def has_synced(self) -> bool:
        """The first list has been handed on."""
        return self._applied > 0

    @property
    def degraded(self) -> bool:
        """Is etcd away, or in a state in which it doesn't serve the watch?"""
        return bool(self._trouble)

    def problem(self) -> str | None:
        """Why the caches may be out of date, or None: a readiness check."""
        with self._lock:
            if self._trouble:
                return f"degraded: {self._trouble}"
        return None if self.has_synced else "the first list is not complete"

    def reopen(self) -> None:
        """Leave the member that the watch is on for another: it may be lagging behind."""
        with self._lock:
            watch = self._watch
        if watch is not None:
            _log.info("watch is moved to another member", applied=self._applied)
            watch.reopen()

    def relist(self, reason: str) -> None:
        """List anew: the caches may have missed something."""
        with self._lock:
            self._relist = reason
        self._inbox.wake()

    def run(self, stop: threading.Event) -> None:
        """List, watch and hand on until stopped: the hub's thread.

        Raises:
            HistoryLost: etcd is not the one it was: what is cached is of another history.
            PermissionDenied: Before the first list is complete: a person must act.
        """
        try:
            while not stop.is_set():
                if self._list(stop):
                    self._follow(stop)
        finally:
            with self._lock:
                watch, self._watch = self._watch, None
            if watch is not None:
                watch.close()

    def close(self) -> None:
        """End the thread's wait, after its stop was set."""
        self._inbox.wake()

    # --- listing

    def _list(self, stop: threading.Event) -> bool:
        """List until it succeeds; False when stopped before."""
        failures = 0
        while not stop.is_set():
            try:
                revision = self._list_once()
            except HistoryLost:
                raise
            except Compacted:
                continue  # history went on under a list of several pages
            except StoreError as error:
                if isinstance(error, PermissionDenied) and not self.has_synced:
                    raise
                self._degraded(error)
                self._clock.wait(stop, _RETRY.delay(failures, random.random()))  # noqa: S311 - spreads load, no secret
                failures += 1
            else:
                self.lists += 1
                self._mark(revision)
                self._recovered()
                return True
        return False

    def _list_once(self) -> int:
        """Hand every route its keys as of one revision, which is returned."""
        with self._lock:
            self._relist = ""
        revision = 0
        for segment, route in self._routes.items():
            listing = self._source.list(f"{self._base}{segment}/", page=PAGE, revision=revision, timeout=LIST_SECONDS)
            revision = listing.revision
            route.replace(listing.kvs, revision)
        return revision

    # --- watching

    def _follow(self, stop: threading.Event) -> None:
        """Watch from the applied revision on, until stopped or in need of a list."""
        first = self._base + min(ELECTION, *self._routes) + "/"
        target = WatchTarget(self._base, prefix=True, start_revision=self._applied + 1, start=first)
        watch = self._source.watch((target,), self._inbox.open())
        with self._lock:
            self._watch = watch
        memory.give_back()  # the list was as large as all that is cached
        self._unsure = False
        reason = ""
        while not stop.is_set() and not reason:
            reason = self._step(stop)
        if reason:
            _log.info("listing anew", reason=reason, applied=self._applied)
            watch.cancel()

    def _step(self, stop: threading.Event) -> str:
        """Hand on what has come; the result is a reason to list anew, or ""."""
        if self._inbox.wait(stop, CHECK, self._clock) and (delay := self._pace.delay(self._clock.now())):
            self._clock.wait(stop, delay)
        items = self._inbox.take()
        if self._inbox.overflowed:
            return "too many events wait"
        reason = self._hand_on(items)
        if not reason and self._unsure:
            reason = self._look_ahead()
        with self._lock:
            return reason or self._relist

    def _hand_on(self, items: Sequence[WatchItem]) -> str:
        found: dict[str, list[WatchEvent]] = {}
        applied, reason = self._applied, ""
        for item in items:
            if isinstance(item, WatchInterrupted):
                if isinstance(item.error, HistoryLost):
                    raise item.error
                self._degraded(item.error)
                self._unsure = True
                continue
            if isinstance(item, WatchCompacted):
                reason = f"history up to {item.compact_revision} is gone"
                continue
            self._recovered()
            applied = max(applied, item.revision)
            if isinstance(item, WatchBatch):
                self._sort(item.events, found)
        for segment, events in found.items():
            if (route := self._routes.get(segment)) is not None:
                route.apply(events)
        if applied > self._applied:
            self._mark(applied)
        return reason

    def _sort(self, events: Iterable[WatchEvent], found: dict[str, list[WatchEvent]]) -> None:
        """Add events to those of their segments, keeping their order. Neighbours are of one segment as a rule."""
        start = len(self._base)
        folder, same = "\0", []
        for event in events:
            key = event.key
            if not key.startswith(folder):
                segment = key[start : key.find("/", start)]
                folder, same = f"{self._base}{segment}/", found.setdefault(segment, [])
            same.append(event)

    def _look_ahead(self) -> str:
        """How far is an interrupted watch behind? A reason to list anew when it is far, or ""."""
        try:
            head = self._source.range(self._base, prefix=True, limit=1, keys_only=True, timeout=HEAD_SECONDS).revision
        except HistoryLost:
            raise
        except StoreError as error:
            self._degraded(error)
            return ""
        if head - self._applied > self._far_behind:
            return f"{head - self._applied} revisions behind"
        self._unsure = False
        return ""

    def _mark(self, revision: int) -> None:
        self._applied = max(self._applied, revision)
        for route in self._routes.values():
            route.mark(self._applied)
        self._consumer.passed(self._applied)

    # --- state

    def _degraded(self, error: StoreError) -> None:
        """etcd is away, has no leader or no space ...: a state, told once, not a crash."""
        reason = f"{type(error).__name__}: {error}"
        with self._lock:
            first, self._trouble = not self._trouble, reason
        if first:
            self._since = self._clock.now()
            _log.warning("caches are degraded", reason=reason, applied=self._applied)

    def _recovered(self) -> None:
        with self._lock:
            trouble, self._trouble = self._trouble, ""
        if trouble:
            _log.info("caches are up to date again", seconds=self._clock.now() - self._since, applied=self._applied)
