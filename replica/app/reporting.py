"""What a replica tells systemd: that it is ready, whether it leads, and that it is well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from component.clock import Clock
    from component.notify import Notifier

PERIOD: Final = 1.0
"""Seconds between two looks."""


class Report:
    """Tells each thing once when it comes to be so: READY, STATUS, STOPPING; and signs of life while it is well.

    Args:
        unready: None once it is ready, else why it isn't.
        unwell: None while it is well: what `/healthz` says. Without signs of life the manager starts it anew.
        leads: Does it lead?
        leader: Who leads, "" for nobody known.
    """

    def __init__(
        self,
        notifier: Notifier,
        *,
        unready: Callable[[], str | None],
        unwell: Callable[[], str | None],
        leads: Callable[[], bool],
        leader: Callable[[], str],
        clock: Clock,
    ) -> None:
        self._notifier = notifier
        self._unready = unready
        self._unwell = unwell
        self._leads = leads
        self._leader = leader
        self._clock = clock
        self._ready = False
        self._status = ""
        self._alive_at: float | None = None

    def run(self, stop: threading.Event) -> None:
        """Look again and again until the replica is to end, and say that it ends."""
        while not stop.is_set():
            self._notifier.tell(*self.news())
            self._clock.wait(stop, PERIOD)
        self._notifier.tell("STOPPING=1", "STATUS=stopping")

    def news(self) -> list[str]:
        """What there is to tell now that wasn't told before."""
        told = []
        problem = self._unready()
        if problem is None and not self._ready:
            self._ready = True
            told.append("READY=1")
        status = self._state(problem)
        if status != self._status:
            self._status = status
            told.append(f"STATUS={status}")
        if self._is_due() and self._unwell() is None:
            self._alive_at = self._clock.now()
            told.append("WATCHDOG=1")
        return told

    def _state(self, problem: str | None) -> str:
        if self._leads():
            return "leads" if problem is None else f"leads, not ready: {problem}"
        if problem is not None:
            return f"not ready: {problem}"
        leader = self._leader()
        return f"stands by, {leader} leads" if leader else "stands by, nobody leads"

    def _is_due(self) -> bool:
        """Three signs in the time in which the manager wants one."""
        wanted = self._notifier.watchdog
        if wanted is None:
            return False
        return self._alive_at is None or self._clock.now() - self._alive_at >= wanted / 3
