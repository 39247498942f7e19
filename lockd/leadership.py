"""One term, as its work sees it: a value bound to time, not a flag."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from lockd.fencing import Guard, Token


class Bell(threading.Event):
    """An event that wakes those who wait for something else, too."""

    def __init__(self) -> None:
        super().__init__()
        self._wakes: list[Callable[[], None]] = []

    def on_set(self, wake: Callable[[], None]) -> None:
        """Call `wake`, which must return at once, when this is set; at once if it is. It may be called twice."""
        self._wakes.append(wake)
        if self.is_set():
            wake()

    def set(self) -> None:
        super().set()
        for wake in self._wakes:
            wake()


class Leadership:
    """What the work of a term holds on to: when it may act, and the guard that etcd checks.

    Ask `holds` before each act, and pass `guard` with each write: the first saves useless work, the second is what
    keeps a process that slept between the two from doing harm.

    Attributes:
        identity: The holder's.
        guard: Goes into every write.
        traceparent: W3C trace context of the term's anchor span.
        takeover: How the term began, as its record says it: `first`, `release`, `expiry` or `evidence`.
        draining: Set when the end is asked for: finish what is in flight, then return.
        lost: Set when the gate has closed: act no more, return.
        refused: How many guarded writes etcd has refused.
    """

    def __init__(
        self,
        *,
        identity: str,
        guard: Guard,
        traceparent: str,
        gate: float,
        work_timeout: float,
        clock: Clock,
        refused: Callable[[int], None],
        takeover: str = "first",
    ) -> None:
        self.identity = identity
        self.guard = guard
        self.traceparent = traceparent
        self.takeover = takeover
        self.draining = Bell()
        self.lost = Bell()
        self.refused = 0
        self._gate = gate
        self._clock = clock
        self._work_timeout = work_timeout
        self._refused = refused
        self._until = clock.now() + work_timeout
        self._counting = threading.Lock()

    @property
    def token(self) -> Token:
        return self.guard.token

    @property
    def deadline(self) -> float:
        """The gate: the moment until which the term holds, unless a renewal moves it. It only moves forward."""
        return self._gate

    def holds(self, now: float) -> bool:
        """May the work act at `now`?"""
        return now < self._gate and not self.lost.is_set()

    def tick(self, until: float | None = None) -> None:
        """The work lives, and will tick again before `until` (by default within the work timeout)."""
        self._until = self._clock.now() + self._work_timeout if until is None else until

    def fenced(self) -> None:
        """A guarded write was refused: a newer term began."""
        with self._counting:
            self.refused += 1
        self.lost.set()
        self._refused(self.guard.token)

    # --- for the elector alone ---

    def renewed(self, gate: float) -> None:
        self._gate = max(gate, self._gate)

    @property
    def work_until(self) -> float:
        return self._until
