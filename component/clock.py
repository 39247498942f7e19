"""Time, in one place: everything else takes a clock or a time as an argument."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import threading

LONGEST_WAIT = 1.0
"""Seconds a wait may last before the clock is read again: Python's waits stop while the system is suspended."""


def nanoseconds(seconds: float) -> int:
    """Seconds since 1970 as telemetry has them."""
    return round(seconds * 1e6) * 1000  # a float of this size is good to a microsecond


class Clock(Protocol):
    """A source of time and of waiting."""

    def now(self) -> float:
        """Seconds on a clock that never goes back and counts system suspend."""
        ...

    def wall(self) -> float:
        """Seconds since 1970, for display only: no decision depends on it."""
        ...

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """Wait until `stop` is set (True) or `seconds` have passed on this clock (False)."""
        ...


class SystemClock:
    """The host's CLOCK_BOOTTIME: all processes of one host read the same values."""

    def now(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def wall(self) -> float:
        return time.time()

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        end = self.now() + seconds
        while (left := end - self.now()) > 0:
            if stop.wait(min(left, LONGEST_WAIT)):
                return True
        return stop.is_set()
