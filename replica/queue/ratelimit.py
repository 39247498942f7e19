"""Rate limits of a work queue: how long a key that failed waits before it comes again."""

from __future__ import annotations

from typing import Final, Protocol

from component.backoff import Backoff

ITEM_INITIAL: Final = 0.005
ITEM_MAXIMUM: Final = 1000.0
OVERALL_RATE: Final = 10.0
OVERALL_BURST: Final = 100


class RateLimiter(Protocol):
    """Not thread-safe: the queue has the lock."""

    def when(self, key: str, now: float) -> float:
        """Seconds that `key` is to wait; counted as one more failure of it."""
        ...

    def forget(self, key: str) -> None:
        """The key is done with, well or for good: its next failure is its first."""
        ...

    def retries(self, key: str) -> int:
        """Failures of the key so far."""
        ...


class ItemBackoff:
    """Each key's delay doubles from failure to failure."""

    def __init__(self, *, initial: float = ITEM_INITIAL, maximum: float = ITEM_MAXIMUM) -> None:
        self._delays = Backoff(initial=initial, maximum=maximum)
        self._failures: dict[str, int] = {}

    def when(self, key: str, now: float) -> float:  # noqa: ARG002 - by failures alone, whenever they are
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return self._delays.delay(failures)

    def forget(self, key: str) -> None:
        self._failures.pop(key, None)

    def retries(self, key: str) -> int:
        return self._failures.get(key, 0)


class Bucket:
    """So many a second over all keys, after a burst."""

    def __init__(self, *, rate: float = OVERALL_RATE, burst: int = OVERALL_BURST) -> None:
        self._rate = rate
        self._burst = burst
        self._level = float(burst)
        self._last = float("-inf")

    def when(self, key: str, now: float) -> float:  # noqa: ARG002 - all keys drink from one bucket
        self._level = min(self._burst, self._level + max(0.0, now - self._last) * self._rate) - 1.0
        self._last = now
        return max(0.0, -self._level / self._rate)

    def forget(self, key: str) -> None:  # noqa: ARG002 - it remembers nobody
        return

    def retries(self, key: str) -> int:  # noqa: ARG002 - it counts nobody's
        return 0


class Slowest:
    """The longest of several limits' delays."""

    def __init__(self, *limiters: RateLimiter) -> None:
        self._limiters = limiters

    def when(self, key: str, now: float) -> float:
        return max((limiter.when(key, now) for limiter in self._limiters), default=0.0)

    def forget(self, key: str) -> None:
        for limiter in self._limiters:
            limiter.forget(key)

    def retries(self, key: str) -> int:
        return max((limiter.retries(key) for limiter in self._limiters), default=0)


def controller_limiter() -> Slowest:
    """What controllers use: 5 ms doubling to 1000 s for each key, and 10 a second over all after a burst of 100."""
    return Slowest(ItemBackoff(), Bucket())
