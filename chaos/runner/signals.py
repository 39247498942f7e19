"""What has happened so far, as triggers count it: events that came, conditions that came to hold."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from component.clock import Clock

STEP: Final = 0.05
"""Seconds after which a wait looks at its stop event, too."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment from which on occurrences are counted.

    Attributes:
        counts: How many there had been.
        held: The conditions that held.
    """

    counts: dict[str, int] = field(default_factory=dict)
    held: frozenset[str] = frozenset()


class Signals:
    """Told by watching threads, waited for by the one that fires. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._holds: dict[str, bool] = {}

    def happened(self, event: str) -> None:
        """An event of `chaos.scenario.trigger` came."""
        with self._lock:
            self._counts[event] += 1
        self._wake.set()

    def hold(self, condition: str, holds: bool) -> None:
        """A condition of `chaos.scenario.trigger` holds from now on, or doesn't."""
        with self._lock:
            rises = holds and not self._holds.get(condition, False)
            self._holds[condition] = holds
            if rises:
                self._counts[condition] += 1
        if rises:
            self._wake.set()

    def mark(self) -> Mark:
        """Count from now on."""
        with self._lock:
            return Mark(dict(self._counts), frozenset(name for name, holds in self._holds.items() if holds))

    def due(self, trigger: str, what: str, nth: int, since: Mark) -> bool:
        """Has the n-th event come? Does the condition hold, for the n-th time at least?

        A condition that held at the mark counts as its first time. One that has come and gone is not due: what it is
        waited for would be missed.
        """
        with self._lock:
            seen = self._counts[what] - since.counts.get(what, 0)
            if trigger == "when":
                return self._holds.get(what, False) and seen + (what in since.held) >= nth
            return seen >= nth

    def wait(self, clock: Clock, seconds: float) -> None:
        """Until something happens, or for a short while; at most so many seconds."""
        clock.wait(self._wake, max(0.0, min(seconds, STEP)))
        self._wake.clear()
