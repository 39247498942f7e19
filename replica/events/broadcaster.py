"""The broadcaster: hands each event to every subscription, and never makes anybody wait."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from opentelemetry import metrics

from component import logs
from component.clock import LONGEST_WAIT, SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from component.clock import Clock
    from replica.api.events import Event

_log = logs.get(__name__)

CAPACITY = 20_000
"""Events that wait for one subscriber at most; about 1 KiB each."""


class Subscription:
    """Events on their way to one subscriber: a bounded buffer that drops what finds it full."""

    def __init__(
        self,
        name: str,
        *,
        capacity: int = CAPACITY,
        wants: Callable[[Event], bool] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self._wants = wants
        self.dropped = 0
        """Events that found the buffer full."""
        self._capacity = capacity
        self._clock = clock or SystemClock()
        self._changed = threading.Condition()
        self._waiting: deque[Event] = deque()
        self._closed = False
        self._drops = metrics.get_meter(__name__).create_counter(
            "lockd_events_dropped", description="Events dropped since their subscriber was too slow"
        )
        self._drops.add(0, {"subscriber": name})

    def put(self, events: Sequence[Event]) -> None:
        wanted = events if self._wants is None else list(filter(self._wants, events))
        if not wanted:
            return
        with self._changed:
            if self._closed:
                return
            room = self._capacity - len(self._waiting)
            self._waiting.extend(wanted[:room])
            self._changed.notify()
            lost = max(0, len(wanted) - room)
            first = lost and not self.dropped
            self.dropped += lost
        if lost:
            self._drops.add(lost, {"subscriber": self.name})
        if first:
            _log.warning("events are dropped", subscriber=self.name, capacity=self._capacity)

    def take(self, most: int, stop: threading.Event, timeout: float, *, linger: float = 0.0) -> list[Event]:
        """Up to `most` events in order, waiting up to `timeout` seconds for the first; none when stopped or closed.

        Args:
            linger: Seconds that the first waits for others, so that they go together; none when stopped or closed.
        """
        end = self._clock.now() + timeout
        with self._changed:
            while not self._waiting:
                left = end - self._clock.now()
                if self._closed or stop.is_set() or left <= 0:
                    return []
                self._changed.wait(min(left, LONGEST_WAIT))
            end = self._clock.now() + linger
            while len(self._waiting) < most and not self._closed and not stop.is_set():
                if (left := end - self._clock.now()) <= 0:
                    break
                self._changed.wait(min(left, LONGEST_WAIT))
            return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def closed(self) -> bool:
        """Closed, and everything has been taken."""
        with self._changed:
            return self._closed and not self._waiting

    def close(self) -> None:
        """Take no more; what waits can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class Broadcaster:
    """Where recorders publish and subscribers listen."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription, ...] = ()

    def subscribe(
        self, name: str, *, capacity: int = CAPACITY, wants: Callable[[Event], bool] | None = None
    ) -> Subscription:
        """From now on, keep every event (or those that it wants) for one more subscriber."""
        subscription = Subscription(name, capacity=capacity, wants=wants, clock=self._clock)
        with self._lock:
            self._subscriptions = (*self._subscriptions, subscription)
        return subscription

    def publish(self, *events: Event) -> None:
        """Hand events to every subscription; where its buffer is full, they are dropped and counted."""
        for subscription in self._subscriptions:
            subscription.put(events)

    def close(self) -> None:
        """No event is taken any more; subscribers end once they have those that wait."""
        for subscription in self._subscriptions:
            subscription.close()
