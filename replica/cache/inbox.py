"""The watch hub's inbox: what the watch brings, until the hub takes it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from component.clock import LONGEST_WAIT
from lockd.etcd.model import WatchBatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from lockd.etcd.model import WatchItem

LIMIT = 50_000
"""Events that may wait: to list anew is quicker than to work off more."""


class Inbox:
    """Items of one watch at a time.

    The watch never waits for the hub: if too much piles up, all of it is thrown away and the hub lists anew.
    """

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit
        self._changed = threading.Condition()
        self._generation = 0
        self._items: list[WatchItem] = []
        self._events = 0
        self._overflowed = False
        self._woken = False

    def open(self) -> Callable[[WatchItem], None]:
        """The sink for a new watch; what earlier watches bring from now on is ignored."""
        with self._changed:
            self._generation += 1
            self._items, self._events, self._overflowed = [], 0, False
            generation = self._generation
        return lambda item: self._put(generation, item)

    @property
    def overflowed(self) -> bool:
        """More came than may wait, and was thrown away."""
        with self._changed:
            return self._overflowed

    def wait(self, stop: threading.Event, timeout: float, clock: Clock) -> bool:
        """Wait up to `timeout` seconds until something is there to be taken; False when nothing is."""
        end = clock.now() + timeout
        with self._changed:
            while not self._items and not self._overflowed and not self._woken:
                left = end - clock.now()
                if stop.is_set() or left <= 0:
                    break
                self._changed.wait(min(left, LONGEST_WAIT))
            self._woken = False
            return bool(self._items)

    def take(self) -> list[WatchItem]:
        """All items that wait."""
        with self._changed:
            items, self._items, self._events = self._items, [], 0
            return items

    def wake(self) -> None:
        """End a wait, now or the next, for a reason that its caller knows."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def _put(self, generation: int, item: WatchItem) -> None:
        with self._changed:
            if generation != self._generation or self._overflowed:
                return
            if isinstance(item, WatchBatch):
                self._events += len(item.events)
            if self._events > self._limit:
                self._items, self._events, self._overflowed = [], 0, True
            else:
                self._items.append(item)
            self._changed.notify_all()
