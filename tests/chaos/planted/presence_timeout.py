"""A replica that asks the leader's presence again and again, and takes silence for its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from component.clock import SystemClock
from lockd.presence.connection import Connection, End
from lockd.presence.dialer import Dialer, Target
from tests.chaos.planted.patching import patch, start

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

EACH = 0.5
"""Seconds between two questions."""

ANSWER = 1.0
"""Seconds that an answer may take: more than a busy machine needs, and less than the silence of a scenario lasts."""


class Until:
    """As an event that is set when so many seconds have passed, or when the other one is."""

    def __init__(self, stop: threading.Event, seconds: float) -> None:
        self._stop = stop
        self._clock = SystemClock()
        self._end = self._clock.now() + seconds

    def is_set(self) -> bool:
        return self._stop.is_set() or self._clock.now() >= self._end


def impatient(keep: Callable[..., End | None]) -> Callable[..., End | None]:
    def kept(self: Dialer, connection: Connection, target: Target, stop: threading.Event) -> End | None:
        end = keep(self, connection, target, Until(stop, EACH))
        over = stop.is_set() or self._stopping or self._target != target
        return end if end is not None or over else End.CLOSED

    return kept


def patient(dial: Callable[..., Connection | None]) -> Callable[..., Connection | None]:
    return lambda self, family, where, seconds: dial(self, family, where, max(seconds, ANSWER))


def plant() -> None:
    patch(Dialer, "_keep", "self connection target stop", impatient)
    patch(Dialer, "_dial", "self family where seconds", patient)


if __name__ == "__main__":
    start(plant)
