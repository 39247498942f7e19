"""Leaving in time: a watchdog that needs no interpreter, and an orderly end with a bound."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import stat
import sys
import threading
from typing import TYPE_CHECKING, NoReturn

from component import logs
from component.hard_exit import HardExit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from component.clock import Clock

    Step = tuple[str, Callable[[float], object]]

AT_ONCE = 1e-3
"""Seconds that a moment already past is away: 0 would disarm the timer."""

NOTICE = 0.1
"""Seconds before the hard exit at which the stacks are written."""

LONG = 60.0
"""Seconds after which the thread that writes them looks again, while nothing is armed."""

SOON = 0.5
"""Seconds after which it looks again when it has written them: the exit may have been put off in the last moment."""

LAST_WORDS = "The time for an orderly end is over. The stacks of all threads:\n"

RESERVE = 0.1
"""The part of a bound kept for the last lines of stdout and stderr, and once more for ending before the watchdog."""

LARGEST_RESERVE = 0.25
"""Seconds that each of the two takes at most."""

_log = logs.get(__name__)


class Watchdog:
    """Ends the process with code 1 at a given moment, even when a thread holds the interpreter's lock for ever.

    The stacks of all threads go to standard error just before, if the interpreter runs at all by then. The time goes on
    while the process is stopped or the system is suspended.

    Args:
        stacks: False: leave without a word.
    """

    def __init__(self, clock: Clock, *, stacks: bool = True) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._exit: HardExit | None = None
        self._at: float | None = None
        self._sooner = threading.Event()
        self._stacks = _stderr_that_never_blocks() if stacks else None

    @property
    def armed_at(self) -> float | None:
        """The moment of the hard exit, on the clock given; None when disarmed."""
        return self._at

    def arm(self, at: float) -> None:
        """Exit at `at` on the clock given, instead of at any moment armed earlier."""
        with self._lock:
            if self._exit is None:
                self._exit = HardExit(1)
                if self._stacks is not None:
                    self._watch_out(self._stacks)
            before, self._at = self._at, at
            self._exit.arm(max(at - self._clock.now(), AT_ONCE))
        if before is None or at < before:
            self._sooner.set()

    def arm_by(self, at: float) -> None:
        """Exit at `at`, or at the moment already armed if that is sooner."""
        self.arm(at if self._at is None else min(at, self._at))

    def disarm(self) -> None:
        """Don't exit."""
        with self._lock:
            self._at = None
            if self._exit is not None:
                self._exit.disarm()

    def _watch_out(self, fd: int) -> None:
        def run() -> None:
            told: float | None = None
            while True:
                at = self._at
                left = self._left(at, told)
                if left > 0:
                    if self._clock.wait(self._sooner, left):
                        self._sooner.clear()
                    continue
                told = at
                with contextlib.suppress(OSError):  # nobody reads it
                    os.write(fd, LAST_WORDS.encode())
                    faulthandler.dump_traceback(fd, all_threads=True)

        with contextlib.suppress(RuntimeError):  # no thread is to be had: the exit needs none
            threading.Thread(target=run, name="watchdog", daemon=True).start()

    def _left(self, at: float | None, told: float | None) -> float:
        """Seconds until the stacks are due for an exit at `at`, or until it is to be asked again."""
        if at is None:
            return LONG
        return SOON if at == told else at - NOTICE - self._clock.now()


def leave(
    code: int, *, steps: Sequence[Step], bound: float, clock: Clock, watchdog: Watchdog | None = None
) -> NoReturn:
    """Run the steps one after another and end the process with `code`, `bound` seconds from now at the latest.

    A step that hangs is abandoned when the time is up, one that raises is logged; neither keeps the next from its turn
    while time is left. When not even this function gets to run, the watchdog ends the process with code 1; a process
    that can have no timer has its steps all the same, bounded by this function alone.

    Args:
        steps: Names, and functions that are given the seconds left; each runs in a thread of its own.
        bound: Seconds for everything, the last flush of stdout and stderr included.
        watchdog: The process's own, if it has one: what it was armed for earlier goes on counting.
    """
    try:
        end = clock.now() + bound
        _arm(watchdog or Watchdog(clock), end)
        reserve = min(bound * RESERVE, LARGEST_RESERVE)
        for name, run in steps:
            _step(name, run, end - 2 * reserve, clock)
        _step("flush", _flush, end - reserve, clock)
    finally:
        os._exit(code)


def _arm(watchdog: Watchdog, end: float) -> None:
    try:
        watchdog.arm_by(end)
    except OSError as error:
        _log.warning("the exit has no watchdog", error=str(error))


def _step(name: str, run: Callable[[float], object], end: float, clock: Clock) -> None:
    left = end - clock.now()
    if left <= 0:
        _log.warning("no time left for a step of the exit", step=name)
        return
    done = threading.Event()

    def bounded() -> None:
        try:
            run(left)
        except BaseException as error:  # noqa: BLE001 - the process ends anyway, and other steps want their turn
            _log.exception("step of the exit failed", error, step=name)
        finally:
            done.set()

    try:
        threading.Thread(target=bounded, name=f"exit/{name}", daemon=True).start()
    except RuntimeError as error:
        _log.exception("step of the exit could not start", error, step=name)
        return
    if not clock.wait(done, left):
        _log.warning("step of the exit hung and was abandoned", step=name, seconds=left)


def _flush(_left: float) -> None:
    for stream in (sys.stderr, sys.stdout):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # its reader is gone, or it is closed (None): tell nobody
            continue


def _stderr_that_never_blocks() -> int:
    """A descriptor for what standard error is now, whatever becomes of that.

    A pipe that nobody reads would keep the watchdog from ending the process. Opened anew it doesn't block, and the
    flag isn't shared with the other users of the pipe. A socket can't be opened anew.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        if stat.S_ISSOCK(os.fstat(2).st_mode):
            return os.dup(2)
        return os.open("/proc/self/fd/2", flags)
    except OSError:
        pass
    try:
        return os.dup(2)
    except OSError:  # standard error is closed
        return _nowhere()


def _nowhere() -> int:
    return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
