"""A command kept by a warden: it ends when it may run no longer, and when we do, with all that it started.

See `component.warden` for the other side.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from component import offspring
from component.clock import SystemClock
from component.warden import PACKET

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from component.clock import Clock

_PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from component.warden import main; main(sys.argv[1:])"
)
_ROOT: Final = Path(__file__).parent.parent
_HASTE: Final = 0.01
_CLOCK: Final = SystemClock()


@dataclass(frozen=True, slots=True)
class Started:
    """The command runs. `group` is its pid and its process group."""

    group: int


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The command can't be executed, for this `errno`."""

    errno: int


@dataclass(frozen=True, slots=True)
class Warned:
    """It was asked to end, since its time is nearly over."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A signal stopped it."""

    number: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The command itself has ended; `code` is as a shell tells it: 128 + n when signal n ended it."""

    code: int

    @property
    def by_signal(self) -> bool:
        return self.code > 128


@dataclass(frozen=True, slots=True)
class Gone:
    """Nothing of it is left: all was reaped."""


Event = Started | NotStarted | Warned | Stopped | Ended | Gone


class Ward:
    """One command under a warden of its own.

    Attributes:
        gone: Set when nothing of it is left.
    """

    def __init__(
        self,
        command: Sequence[str],
        sink: Callable[[Event], None],
        *,
        environment: Mapping[str, str],
        warn_at: float,
        kill_at: float,
        foreground: bool = False,
        descriptors: Sequence[int] = (),
        alone: bool = False,
        clock: Clock = _CLOCK,
    ) -> None:
        """Start it. Standard input, output and error are ours.

        Args:
            sink: Given what happens, on a thread of the ward; `Gone` comes last.
            environment: All of its environment.
            warn_at: From when on it is asked to end, on CLOCK_BOOTTIME.
            kill_at: When it is killed. If that is over before it has started, it isn't.
            foreground: Its process group gets the terminal that is standard input.
            descriptors: Passed on to it, with their numbers.
            alone: This process has no other children: should the warden be killed, what it kept becomes ours, and all
                that is ours is killed. Otherwise the command alone is, by the kernel.

        Raises:
            OSError: There is no process to be had.
        """
        self.gone = threading.Event()
        self._sink = sink
        self._clock = clock
        self._alone = alone
        self._kills = threading.Lock()
        if alone:
            offspring.adopt()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            words = (str(theirs.fileno()), str(warn_at), str(kill_at), str(int(foreground)), *command)
            self._warden = subprocess.Popen(  # noqa: S603  # the command is a list of the caller's
                (sys.executable, "-I", "-S", "-c", _PROGRAM, str(_ROOT), *words),
                env=dict(environment),
                process_group=0,  # what a terminal sends is for the command, or for us
                pass_fds=(theirs.fileno(), *descriptors),
            )
        threading.Thread(target=self._listen, name="ward", daemon=True).start()

    @property
    def warden(self) -> int:
        """The warden's pid."""
        return self._warden.pid

    def until(self, warn_at: float, kill_at: float) -> None:
        """It may run on until then."""
        self._tell(f"until {warn_at} {kill_at}")

    def signal(self, number: int, *, everybody: bool) -> None:
        """Pass a signal on, to the command or to its whole process group."""
        self._tell(f"signal {number} {'all' if everybody else 'one'}")

    def kill(self, patience: float) -> None:
        """Kill all of it, now; its warden too if it is not done with that in so many seconds."""
        self._tell("kill")
        if self._kills.acquire(blocking=False):
            threading.Thread(target=self._insist, args=(patience,), name="ward/kill", daemon=True).start()

    def _insist(self, patience: float) -> None:
        if not self._clock.wait(self.gone, patience):
            self._warden.kill()

    def _tell(self, packet: str) -> None:
        with suppress(OSError):  # it has ended, or it is stopped: then its own clock or `kill` ends it
            self._control.send(packet.encode(), socket.MSG_DONTWAIT)

    def _listen(self) -> None:
        failed = False
        with suppress(ConnectionError):
            while packet := self._control.recv(PACKET):
                event = _event(packet.decode().split())
                if event is None or (failed and isinstance(event, Ended)):
                    continue
                failed = isinstance(event, NotStarted)
                self._sink(event)
        if self._warden.wait() and self._alone:  # it was killed, or failed: what it kept is ours now
            self._clear()
        self._control.close()
        self.gone.set()
        self._sink(Gone())

    def _clear(self) -> None:
        never = threading.Event()
        while offspring.children():
            offspring.kill_all()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            self._clock.wait(never, _HASTE)


def _event(words: list[str]) -> Event | None:
    match words:
        case ["started", pid]:
            return Started(int(pid))
        case ["failed", errno]:
            return NotStarted(int(errno))
        case ["warned"]:
            return Warned()
        case ["stopped", number]:
            return Stopped(int(number))
        case ["ended", status]:
            code = os.waitstatus_to_exitcode(int(status))
            return Ended(code if code >= 0 else 128 - code)
        case _:
            return None
