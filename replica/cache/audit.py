"""The cache audit: are the caches what etcd holds?

etcd before 3.4.36 and 3.5.18 can lose a deletion when it compacts; a watch never tells. So the keys of a list, without
their values, are compared with the caches after each takeover and now and then.
"""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Any, Final

from component import logs
from component.clock import SystemClock
from lockd.errors import HistoryLost, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from component.clock import Clock
    from replica.cache.informer import SharedInformer
    from replica.cache.watch_hub import Source, WatchHub

_log = logs.get(__name__)

PERIOD: Final = (300.0, 600.0)
"""Seconds between two audits at least and at most, drawn anew each time so that replicas don't list together."""

RESPITE: Final = 3.0
"""Seconds before an audit that was asked for: whoever asks has just become leader, and better things to do."""

LIST_SECONDS: Final = 30.0
APPLY_SECONDS: Final = 30.0
POLL: Final = 0.1


class CacheAudit:
    """Compares, and has the hub list anew where there is a difference.

    Args:
        draw: Random numbers in [0, 1).
    """

    def __init__(
        self,
        source: Source,
        prefix: str,
        hub: WatchHub,
        informers: Mapping[str, SharedInformer[Any]],
        *,
        clock: Clock | None = None,
        draw: Callable[[], float] = random.random,
        period: tuple[float, float] = PERIOD,
        respite: float = RESPITE,
    ) -> None:
        self._source = source
        self._prefix = prefix
        self._hub = hub
        self._informers = informers
        self._clock = clock or SystemClock()
        self._draw = draw
        self._shortest, self._longest = period
        self._respite = respite
        self._wanted = threading.Event()

    def request(self) -> None:
        """Compare in a moment, in the audit's own thread: what a new leader asks for."""
        self._wanted.set()

    def run(self, stop: threading.Event) -> None:
        """Compare when asked to, and now and then, until stopped."""
        while not stop.is_set():
            end = self._clock.now() + self._shortest + (self._longest - self._shortest) * self._draw()
            while not stop.is_set() and not self._wanted.is_set() and (left := end - self._clock.now()) > 0:
                self._clock.wait(self._wanted, min(left, 1.0))
            if self._wanted.is_set():
                self._clock.wait(stop, self._respite)
                self._wanted.clear()
            if not stop.is_set():
                self._try(stop)

    def compare(self, stop: threading.Event) -> tuple[str, ...]:
        """List keys, wait until the caches are as new as the list, and compare.

        Returns:
            Keys that a cache holds though they are gone, or at a revision that has been overwritten. Empty as well when
            the caches have not come as far as the list in time, which is the barrier's and the watch's concern.

        Raises:
            StoreError: The list failed.
        """
        revision = 0
        listed: dict[str, dict[str, int]] = {}
        for plural in self._informers:
            base = f"{self._prefix}/{plural}/"
            listing = self._source.list(base, revision=revision, keys_only=True, timeout=LIST_SECONDS)
            revision = listing.revision
            listed[plural] = {kv.key[len(base) :]: kv.mod_revision for kv in listing.kvs}
        end = self._clock.now() + APPLY_SECONDS
        while self._hub.applied < revision:
            if self._clock.now() >= end or self._clock.wait(stop, POLL):
                return ()
        return tuple(
            f"{plural}/{path}"
            for plural, informer in self._informers.items()
            for path, cached in informer.revisions().items()
            if cached <= revision and cached != listed[plural].get(path)
        )

    def _try(self, stop: threading.Event) -> None:
        try:
            different = self.compare(stop)
        except HistoryLost:
            raise
        except StoreError as error:
            _log.debug("caches not compared with etcd", error=error)
            return
        if different:
            _log.error("caches differ from etcd", count=len(different), keys=", ".join(different[:10]))
            self._hub.relist("the caches differ from etcd")
