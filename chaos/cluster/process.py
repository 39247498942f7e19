"""Processes by pid and start time: no signal ever reaches a stranger who was given the same pid."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from component.clock import Clock

LEASH: Final = Path(__file__).with_name("leash.py")
STEP: Final = 0.02
"""Seconds between two looks at a process."""


class Gone(Exception):
    """The process has ended (its pid may be another's by now)."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process, certainly.

    Attributes:
        started: Its start, in clock ticks since boot, as /proc tells it.
    """

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Process:
        """The process that has this pid now.

        Raises:
            Gone: There is none.
        """
        stat = _stat(pid)
        if stat is None:
            raise Gone(f"process {pid} has ended")
        return cls(pid, stat.started)

    @property
    def state(self) -> str:
        """/proc's letter, such as `S` asleep, `T` stopped, `Z` ended and not yet reaped; "" once it is gone."""
        stat = _stat(self.pid)
        return stat.state if stat is not None and stat.started == self.started else ""

    @property
    def alive(self) -> bool:
        return self.state not in ("", "Z", "X")

    def send(self, number: signal.Signals) -> None:
        """Signal it, and nobody else.

        Raises:
            Gone: It has ended.
        """
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError as error:
            raise Gone(f"process {self.pid} has ended") from error
        try:
            # The handle pins the process; only then is it known whose it is.
            if not self.alive:
                raise Gone(f"process {self.pid} has ended")
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError as error:
            raise Gone(f"process {self.pid} has ended") from error
        finally:
            os.close(handle)

    def wait(self, *, clock: Clock, within: float) -> bool:
        """Did it end within so many seconds?"""
        return eventually(lambda: not self.alive, clock=clock, within=within)


def eventually(
    condition: Callable[[], bool], *, clock: Clock, within: float, stop: threading.Event | None = None
) -> bool:
    """Look until `condition` holds (True) or so many seconds have passed, or `stop` is set (False)."""
    stop = stop or threading.Event()
    end = clock.now() + within
    while not condition():
        if clock.now() >= end or clock.wait(stop, STEP):
            return condition()
    return True


def spawn(
    command: Sequence[str],
    *,
    log: Path,
    environment: Mapping[str, str],
    death: signal.Signals = signal.SIGKILL,
    new_session: bool = True,
) -> subprocess.Popen[bytes]:
    """Start a process that gets the signal `death` when the calling thread ends, however that comes about.

    Its output is appended to `log`. It gets a session of its own, so that a terminal's Ctrl-C reaches its supervisor
    alone, which then ends it in good order.

    Raises:
        OSError: It can't be started.
    """
    leash = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid()), str(int(death))]
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - the command is the caller's own, in a list
            [*leash, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(environment),
            start_new_session=new_session,
        )


def end_all(processes: Sequence[Process], *, clock: Clock, patience: float) -> None:
    """Ask each to end, wait so many seconds for all of them, then kill the rest. Those gone already are fine."""
    for process in processes:
        for number in (signal.SIGTERM, signal.SIGCONT):  # a stopped process takes SIGTERM only once it goes on
            with contextlib.suppress(Gone):
                process.send(number)
    eventually(lambda: not any(process.alive for process in processes), clock=clock, within=patience)
    for process in processes:
        with contextlib.suppress(Gone):
            process.send(signal.SIGKILL)
    eventually(lambda: not any(process.alive for process in processes), clock=clock, within=patience)


@dataclass(frozen=True, slots=True)
class _Stat:
    state: str
    started: int


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the command in parentheses, which may hold blanks and parentheses itself.
    fields = text.rpartition(")")[2].split()
    return _Stat(state=fields[0], started=int(fields[19]))
