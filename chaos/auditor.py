"""The auditing watch: reads etcd's history of a prefix from revision 1, live or after the fact."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Self

from chaos.history import Change, History, Stamp
from component.clock import SystemClock
from lockd.errors import Compacted, HistoryLost, PermissionDenied, StoreError, Unavailable
from lockd.etcd.classify import TIMED_OUT
from lockd.etcd.model import WatchBatch, WatchCompacted, WatchInterrupted, WatchProgress, WatchTarget

if TYPE_CHECKING:
    from collections.abc import Iterable

    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.etcd.model import RangeReply, WatchEvent
    from lockd.ports import KeyValue

STEP: Final = 0.02
"""Seconds between two looks at what the watch has brought."""

GRACE: Final = 1.0
"""Seconds that the watch has to tell by itself that it has come to the head of the store.

Where the last revisions were none of the prefix's, many versions of etcd never tell. That the keys stand as a read
found them then says that nothing is missing, but for keys put and deleted again since: those had the time to arrive.
"""

READ: Final = 10.0
"""Seconds that one read may take."""


class Collected:
    """What a watch has brought so far. Pure; the caller guards it.

    Attributes:
        covered: Nothing at or below this revision is still to come.
        from_revision: The oldest revision known.
    """

    def __init__(self) -> None:
        self.covered = 0
        self.from_revision = 1
        self._baseline: tuple[Change, ...] = ()
        self._changes: list[Change] = []
        self._created: dict[str, int] = {}
        self._standing: dict[str, int] = {}

    def restart(self, revision: int, kvs: Iterable[tuple[str, KeyValue]]) -> None:
        """Begin at `revision`, with all keys as they stood then (without their prefix): what was before is gone."""
        ordered = sorted(kvs, key=lambda item: item[1].mod_revision)
        self.__init__()  # type: ignore[misc]  # everything is forgotten
        self.from_revision = self.covered = revision
        self._baseline = tuple(Change(key, kv.mod_revision, kv.value, kv.create_revision) for key, kv in ordered)
        self._created = {change.key: change.created for change in self._baseline}
        self._standing = {change.key: change.revision for change in self._baseline}

    def add(self, events: Iterable[tuple[str, WatchEvent]], covered: int) -> None:
        """Take complete events in revision order. What was brought before is passed over."""
        for key, event in events:
            if event.mod_revision <= self.covered:
                continue
            if event.value is None:
                created = self._created.pop(key, 0)
                self._standing.pop(key, None)
            else:
                created = self._created[key] = event.create_revision
                self._standing[key] = event.mod_revision
            self._changes.append(Change(key, event.mod_revision, event.value, created))
        self.covered = max(self.covered, covered)

    def matches(self, standing: dict[str, int]) -> bool:
        """Do the keys stand at these mod revisions?"""
        return self._standing == standing

    def history(self, prefix: str, revision: int) -> History:
        """Up to `revision`."""
        changes = tuple(change for change in self._changes if change.revision <= revision)
        return History(prefix, self.from_revision, revision, self._baseline, changes)


class Auditor:
    """Watches a prefix from revision 1 on, until closed."""

    def __init__(self, gateway: Gateway, prefix: str, *, clock: Clock | None = None) -> None:
        self._gateway = gateway
        self._prefix = prefix
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._collected = Collected()
        self._compacted: WatchCompacted | None = None
        self._failure: StoreError | None = None
        self._stamps: dict[int, Stamp] = {}
        self._never = threading.Event()
        self._watch = gateway.watch([WatchTarget(f"{prefix}/", prefix=True, start_revision=1)], self._sink)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.close()

    def history(self, *, within: float) -> History:
        """All that had happened when this was called.

        Raises:
            StoreError: etcd did not tell it within so many seconds.
        """
        end = self._clock.now() + within
        head = self._read(0, end, keys_only=True)
        standing = {self._strip(kv.key): kv.mod_revision for kv in head.kvs}
        matched: float | None = None
        while True:
            self._begin_again(end)
            now = self._clock.now()
            with self._lock:
                if isinstance(self._failure, HistoryLost | PermissionDenied):
                    raise self._failure
                matched = (matched or now) if self._collected.matches(standing) else None
                waited = matched is not None and now - matched >= GRACE and self._failure is None
                if self._compacted is None and (waited or self._collected.covered >= head.revision):
                    return self._collected.history(self._prefix, head.revision)
                if now >= end:
                    raise Unavailable(
                        f"within {within:g} s the history of {self._prefix} arrived only up to revision "
                        f"{self._collected.covered} of {head.revision}"
                        + (f": {self._failure}" if self._failure is not None else ""),
                        code=TIMED_OUT,
                    )
            self._clock.wait(self._never, STEP)

    def stamp(self, revision: int) -> Stamp | None:
        """When the watch brought this revision; None: it hasn't, or nothing under the prefix changed there."""
        with self._lock:
            return self._stamps.get(revision)

    def stamps(self) -> dict[int, Stamp]:
        """When the watch brought each revision at which something under the prefix changed."""
        with self._lock:
            return dict(self._stamps)

    def _sink(self, item: WatchBatch | WatchProgress | WatchCompacted | WatchInterrupted) -> None:
        stamp = Stamp(self._clock.now(), self._clock.wall())
        with self._lock:
            if isinstance(item, WatchInterrupted):
                self._failure = item.error
                return
            self._failure = None
            if isinstance(item, WatchCompacted):
                self._compacted = item
                return
            events = item.events if isinstance(item, WatchBatch) else ()
            self._collected.add(((self._strip(event.key), event) for event in events), item.revision)
            for event in events:
                self._stamps.setdefault(event.mod_revision, stamp)

    def _begin_again(self, end: float) -> None:
        """After a compaction: take the oldest state that there still is, and go on from there."""
        with self._lock:
            compacted = self._compacted
        if compacted is None:
            return
        revision = compacted.compact_revision
        try:
            oldest = self._read(revision, end)
        except Compacted as error:
            revision = max(error.compact_revision, revision + 1)
            oldest = self._read(revision, end)
        with self._lock:
            self._collected.restart(revision, ((self._strip(kv.key), kv) for kv in oldest.kvs))
            self._compacted = None
        self._watch.follow(WatchTarget(f"{self._prefix}/", prefix=True, start_revision=revision + 1))

    def _read(self, revision: int, end: float, *, keys_only: bool = False) -> RangeReply:
        timeout = max(0.1, min(READ, end - self._clock.now()))
        return self._gateway.range(
            f"{self._prefix}/", prefix=True, revision=revision, keys_only=keys_only, timeout=timeout
        )

    def _strip(self, key: str) -> str:
        return key[len(self._prefix) + 1 :]
