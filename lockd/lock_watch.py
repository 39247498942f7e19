"""The watch on a lock's keys: first what is there, then what changes, and what is there again after a gap."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from component import logs
from component.backoff import Backoff
from lockd.errors import HistoryLost, StoreError
from lockd.etcd.model import WatchBatch, WatchCompacted, WatchTarget
from lockd.ports import KeyEvent, Seen, Which

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.etcd.model import WatchItem
    from lockd.etcd.watch import Watch
    from lockd.ports import LockName

_log = logs.get("lockd.watch")

READ_TIMEOUT = 2.0
"""Seconds for reading what is there; it is tried again until it works."""

_PAUSE = Backoff(initial=0.1, maximum=1.0)


class LockWatch:
    """Delivers the lock's keys to a sink until it is cancelled; a RecordStore's `watch`."""

    def __init__(self, gateway: Gateway, lock: LockName, sink: Callable[[KeyEvent], None], clock: Clock) -> None:
        self._gateway = gateway
        self._sink = sink
        self._clock = clock
        self._stop = threading.Event()
        self._watch: Watch | None = None
        self._watching = threading.Event()
        self._keys = {
            lock.lease: Which.LEASE,
            lock.term: Which.TERM,
            lock.history: Which.HISTORY,
            lock.switchover: Which.SWITCHOVER,
            lock.candidates: Which.CANDIDATE,
        }
        self._present: dict[str, set[str]] = {key: set() for key in self._keys}
        self._thread = threading.Thread(target=self._begin, name="lock-watch", daemon=True)

    def start(self) -> LockWatch:
        self._thread.start()
        return self

    def cancel(self) -> None:
        """End it, without waiting."""
        self._stop.set()
        watch = self._watch
        if watch is not None:
            watch.cancel()

    def _begin(self) -> None:
        """Read each key, then watch all of them from there on."""
        targets = []
        for key in self._keys:
            target = self._until_read(key)
            if target is None:
                return
            targets.append(target)
        self._watch = self._gateway.watch(targets, self._take)
        self._watching.set()
        if self._stop.is_set():
            self._watch.cancel()

    def _until_read(self, key: str) -> WatchTarget | None:
        attempt = 0
        while not self._stop.is_set():
            try:
                return self._read(key)
            except HistoryLost:
                return None  # whoever reads through the same witness learns it too
            except StoreError as error:
                _log.debug("lock key not read", key=key, error=str(error))
                self._clock.wait(self._stop, _PAUSE.delay(attempt))
                attempt += 1
        return None

    def _read(self, key: str) -> WatchTarget:
        """Deliver what is there under `key`, and what is gone since it was last delivered."""
        prefix = self._keys[key] is Which.CANDIDATE
        reply = self._gateway.range(key, prefix=prefix, timeout=READ_TIMEOUT)
        found = {kv.key for kv in reply.kvs}
        for kv in reply.kvs:
            self._deliver(key, kv.key, Seen(kv.mod_revision, kv.value))
        for gone in self._present[key] - found:
            self._deliver(key, gone, Seen(reply.revision, None))
        return WatchTarget(key, prefix=prefix, start_revision=reply.revision + 1)

    def _take(self, item: WatchItem) -> None:
        if isinstance(item, WatchBatch):
            for event in item.events:
                self._deliver(item.target.key, event.key, Seen(event.mod_revision, event.value))
        elif isinstance(item, WatchCompacted):
            target = self._until_read(item.target.key)
            self._watching.wait(READ_TIMEOUT)  # its first item may come before `watch` has returned
            if target is not None and self._watch is not None:
                self._watch.follow(target)

    def _deliver(self, target: str, key: str, seen: Seen) -> None:
        if seen.value is None:
            self._present[target].discard(key)
        else:
            self._present[target].add(key)
        if not self._stop.is_set():
            self._sink(KeyEvent(self._keys[target], key, seen))
