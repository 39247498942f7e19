"""Actions one after the other, each waiting for its trigger. Pure, but for the signals it asks."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.runner.schedule import Planned
    from chaos.runner.signals import Mark, Signals


class Track:
    """The actions that are still to be fired. Owned by one thread.

    An event or condition is waited for from the moment when the action before began to be fired.
    """

    def __init__(self, actions: Sequence[Planned], signals: Signals, began: float) -> None:
        self._left = deque(actions)
        self._signals = signals
        self._began = began
        self._since = began
        self._mark = signals.mark()
        self._due = self._moment(began)

    @property
    def head(self) -> Planned | None:
        """The next one; None: all are done."""
        return self._left[0] if self._left else None

    def ready(self, now: float) -> bool:
        """Is the next one to be fired now?"""
        head = self.head
        if head is None:
            return False
        if self._due is None and self._signals.due(head.trigger, head.what, head.nth, self._mark):
            self._due = now + head.delay
        return self._due is not None and now >= self._due

    def next_look(self, now: float) -> float:
        """Seconds after which it may be ready without an event; infinite: only by one."""
        return float("inf") if self.head is None or self._due is None else max(0.0, self._due - now)

    def late(self, now: float, patience: float) -> bool:
        """Has it waited for longer than `patience` beyond what it must wait?"""
        since = max(self._since, self._due or 0.0)
        return self.head is not None and now >= since + patience

    def advance(self, now: float, since: Mark | None = None) -> None:
        """The next one was fired, or given up.

        Args:
            since: From where on occurrences count for the one after it, if not from now: what a fault brings about may
                have come before it was seen to have taken effect.
        """
        self._left.popleft()
        self._since = now
        self._mark = since or self._signals.mark()
        self._due = self._moment(now)

    def _moment(self, now: float) -> float | None:
        """When the next one is due, if no event has to come first."""
        head = self.head
        if head is not None and head.trigger == "at":
            return self._began + head.at + head.delay
        if head is not None and head.trigger == "next":
            return now + head.delay
        return None
