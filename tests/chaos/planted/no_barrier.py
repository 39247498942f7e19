"""A replica that schedules as soon as it leads, whatever its caches have seen by then; its handlers are told late.

Being told late is no bug, and seldom comes up for so long: the barrier is what waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from component.clock import SystemClock
from replica.cache.barrier import Barrier
from replica.cache.listener import Listener
from tests.chaos.planted.patching import patch, start

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

FIRST_LIST = 1
"""The revision that is waited for when the caches are filled for the first time."""

LATE = 0.3
"""Seconds by which handlers are told late."""


def open_at_once(wait: Callable[..., bool]) -> Callable[..., bool]:
    def waited(self: Barrier, revision: int, stop: threading.Event, timeout: float) -> bool:
        return revision > FIRST_LIST or wait(self, revision, stop, timeout)

    return waited


def late(take: Callable[..., object]) -> Callable[..., object]:
    def taken(self: Listener[object], stop: threading.Event) -> object:
        found = take(self, stop)
        SystemClock().wait(stop, LATE)
        return found

    return taken


def plant() -> None:
    patch(Barrier, "wait", "self revision stop timeout", open_at_once)
    patch(Listener, "_take", "self stop", late)


if __name__ == "__main__":
    start(plant)
