"""A clock that stands still until a test moves it."""

from __future__ import annotations

import threading

POLL = 0.005
"""Real seconds between two looks at a stop event, which can't wake a waiter of this clock."""


class ManualClock:
    """A `component.clock.Clock` whose time is set by the test; safe to use from many threads.

    Attributes:
        wall_offset: What `wall()` adds to `now()`.
    """

    def __init__(self, start: float = 1000.0, *, wall_offset: float = 1_700_000_000.0) -> None:
        self.wall_offset = wall_offset
        self._now = start
        self._ends: list[float] = []
        self._moved = threading.Condition()

    def now(self) -> float:
        with self._moved:
            return self._now

    def wall(self) -> float:
        return self.now() + self.wall_offset

    def set(self, moment: float) -> None:
        """Move to `moment`, which must not lie in the past."""
        with self._moved:
            if moment < self._now:
                raise ValueError(f"time does not go back from {self._now} to {moment}")
            self._now = moment
            self._moved.notify_all()

    def advance(self, seconds: float) -> None:
        """Move on by `seconds`."""
        with self._moved:
            self.set(self._now + seconds)

    @property
    def waits(self) -> tuple[float, ...]:
        """When each wait in progress ends, soonest first."""
        with self._moved:
            return tuple(sorted(self._ends))

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        with self._moved:
            end = self._now + seconds
            self._ends.append(end)
            try:
                while self._now < end and not stop.is_set():
                    self._moved.wait(POLL)
            finally:
                self._ends.remove(end)
        return stop.is_set()
