"""A replica that hangs for a while when it is to leave, and whose watchdog sleeps."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, NoReturn

from component.clock import SystemClock
from component.exit import Watchdog
from tests.chaos.planted.patching import patch, start

if TYPE_CHECKING:
    from collections.abc import Callable

HANGS = 15.0
"""Seconds: longer than any bound of an exit with fast leases, and than what a busy machine is given beside."""


def late(leave: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
    def left(status: int) -> NoReturn:
        SystemClock().wait(threading.Event(), HANGS)
        leave(status)

    return left


def plant() -> None:
    patch(os, "_exit", "status", late)
    patch(Watchdog, "arm", "self at", lambda _: lambda *_: None)


if __name__ == "__main__":
    start(plant)
