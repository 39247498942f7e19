"""Pacing: at once as long as little happens, in steps when much does."""

from __future__ import annotations


class Pace:
    """Says how long to wait before the next step, so that steps in a row are few and large.

    Each step wakes a thread for every kind and listener concerned, which costs more than the events it brings. The
    first steps after a while of rest don't wait at all. Pure: times come from the caller.

    Args:
        burst: Steps that may follow each other at once.
        interval: Seconds from one step to the next when they have been used up.
    """

    def __init__(self, *, burst: int = 16, interval: float = 0.002) -> None:
        self._burst = burst
        self._interval = interval
        self._level = float(burst)
        self._last = float("-inf")

    def delay(self, now: float) -> float:
        """Seconds to wait before a step that is wanted now; the step counts as taken then."""
        self._level = min(self._burst, self._level + max(0.0, now - self._last) / self._interval) - 1.0
        self._last = now
        return max(0.0, -self._level * self._interval)
