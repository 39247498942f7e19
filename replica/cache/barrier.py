"""The barrier: have all who read the caches seen everything up to a revision?"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from component.clock import LONGEST_WAIT, SystemClock

if TYPE_CHECKING:
    from component.clock import Clock


class Consumer:
    """Someone whom the barrier waits for: the hub, a cache, or a listener. Made by `Barrier.join`."""

    def __init__(self, name: str, barrier: Barrier) -> None:
        self.name = name
        self._barrier = barrier
        self.applied = 0
        """All changes up to this revision have been taken. Written under the barrier's lock, read without."""

    def passed(self, revision: int) -> None:
        """Everything up to `revision` has been taken; an older one changes nothing."""
        self._barrier.advance(self, revision)

    def leave(self) -> None:
        """The barrier no longer waits for this one."""
        self._barrier.remove(self)


class Barrier:
    """Opens for a revision when all its consumers have passed it.

    A new leader must not place a pod by a cache that lacks its predecessor's last binds. The hub puts a marker with the
    revision it has applied into each kind's delta FIFO, each listener hands it on after what came before it, and here
    they meet.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._changed = threading.Condition()
        self._consumers: list[Consumer] = []
        self._waiting = 0

    def join(self, name: str) -> Consumer:
        """Wait for one more, from now on."""
        consumer = Consumer(name, self)
        with self._changed:
            self._consumers.append(consumer)
        return consumer

    def remove(self, consumer: Consumer) -> None:
        with self._changed:
            self._consumers = [other for other in self._consumers if other is not consumer]
            self._changed.notify_all()

    def advance(self, consumer: Consumer, revision: int) -> None:
        with self._changed:
            if revision > consumer.applied:
                consumer.applied = revision
                if self._waiting:
                    self._changed.notify_all()

    @property
    def applied(self) -> int:
        """The revision that all consumers have passed; 0 when there are none."""
        with self._changed:
            return min((consumer.applied for consumer in self._consumers), default=0)

    def behind(self, revision: int) -> dict[str, int]:
        """Who has not passed `revision`, and how far each has come."""
        with self._changed:
            return {consumer.name: consumer.applied for consumer in self._consumers if consumer.applied < revision}

    def wait(self, revision: int, stop: threading.Event, timeout: float) -> bool:
        """Wait until all consumers have passed `revision` (a token, or the header of a settling reply).

        Returns:
            False at the timeout (seconds) or when `stop` was set before.
        """
        end = self._clock.now() + timeout
        with self._changed:
            self._waiting += 1
            try:
                while True:
                    if self._consumers and all(consumer.applied >= revision for consumer in self._consumers):
                        return True
                    left = end - self._clock.now()
                    if stop.is_set() or left <= 0:
                        return False
                    self._changed.wait(min(left, LONGEST_WAIT / 4))
            finally:
                self._waiting -= 1
