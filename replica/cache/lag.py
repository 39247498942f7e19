"""How far the caches are behind what is known to be committed."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock

LIMIT: Final = 1000
"""Revisions remembered: with one for each renewal, those of half an hour."""


class WatchLag:
    """Compares what others of this process have seen committed under the prefix with what the caches have applied.

    How far etcd's head is ahead would say nothing: it moves with what others keep there. A renewal is under the prefix,
    so that the caches' watch must bring it, and the election sees it by a watch of its own. Thread-safe.

    Args:
        applied: The revision that all caches have passed; 0 while they are empty.
    """

    def __init__(self, applied: Callable[[], int], clock: Clock) -> None:
        self._applied = applied
        self._clock = clock
        self._lock = threading.Lock()
        self._newest = 0
        self._missing: deque[tuple[int, float]] = deque()

    def committed(self, revision: int) -> None:
        """A change of a key under the prefix was committed at this revision, as is known since now."""
        with self._lock:
            self._settle()
            if revision > self._newest and len(self._missing) < LIMIT:
                self._newest = revision
                self._missing.append((revision, self._clock.now()))

    def seconds(self) -> float:
        """Since when there has been a change that the caches lack; 0 when they lack none that is known."""
        with self._lock:
            self._settle()
            return self._clock.now() - self._missing[0][1] if self._missing else 0.0

    def _settle(self) -> None:
        """Forget what has been applied; caches that are still empty lack nothing yet."""
        applied = self._applied()
        while self._missing and (not applied or self._missing[0][0] <= applied):
            self._missing.popleft()
