"""Looking at processes until they are as they should be, and ending many at once."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, Final

from chaos.cluster.interface import Condition
from component.process import Gone, Process

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from component.clock import Clock

STEP: Final = 0.02
"""Seconds between two looks."""


def eventually(condition: Callable[[], bool], *, clock: Clock, within: float) -> bool:
    """Look until `condition` holds (True) or so many seconds have passed (False)."""
    never = threading.Event()
    end = clock.now() + within
    while not condition():
        if clock.now() >= end:
            return condition()
        clock.wait(never, STEP)
    return True


def condition(process: Process) -> Condition:
    """How it is now, in a cluster's words."""
    match process.state:
        case "" | "Z" | "X":
            return Condition.GONE
        case "T" | "t":
            return Condition.STOPPED
    return Condition.RUNNING


def end_all(processes: Sequence[Process], *, clock: Clock, patience: float) -> None:
    """Ask each to end, wait so many seconds for all of them, then kill the rest. Those gone already are fine."""
    for number in (signal.SIGTERM, signal.SIGCONT):  # a stopped process takes SIGTERM only once it goes on
        for process in processes:
            with contextlib.suppress(Gone):
                process.send(number)
    eventually(lambda: not any(process.alive for process in processes), clock=clock, within=patience)
    for process in processes:
        with contextlib.suppress(Gone):
            process.send(signal.SIGKILL)
    eventually(lambda: not any(process.alive for process in processes), clock=clock, within=patience)
