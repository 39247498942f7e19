"""The program that keeps a command for a parent who may die, stop or lose the right to run it.

It starts the command in a process group of its own and speaks with its parent over a socket of packets. The command
and all its descendants are killed at a moment that the parent moves forward while all is well, when the parent says
so, and when the parent is gone; whatever the command leaves behind is killed when it has ended. The moment counts
here, in a process of its own, so that it holds for a parent that is stopped or hangs.

It has one thread: Python runs between its fork and exec. If it is itself killed, the kernel kills the command, and
the parent the rest. `component.ward` is the parent's side.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress

from component import offspring
from component.clock import LONGEST_WAIT, SystemClock
from component.custody import Verdict, judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PACKET = 256
"""Bytes that a packet has at most."""

_HASTE = 0.01
"""Seconds between two rounds of killing while some are left."""

_DEAF = frozenset(signal.Signals) - {
    signal.SIGKILL,
    signal.SIGSTOP,
    signal.SIGCHLD,
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGABRT,
}
"""Meant for the command, if for anybody."""

_CLOCK = SystemClock()


class Warden:
    """Keeps one command.

    Args:
        control: The socket's descriptor.
        foreground: The command's group gets the terminal that is standard input.
    """

    def __init__(self, control: int, *, warn_at: float, kill_at: float, foreground: bool, command: list[str]) -> None:
        self._control = control
        self._warn_at = warn_at
        self._kill_at = kill_at
        self._foreground = foreground
        self._command = command
        self._pid = 0
        self._running = False
        self._warned = False
        self._doomed = False
        self._deserted = False

    def run(self) -> None:
        """Until nothing of it is left."""
        offspring.adopt()
        before = {number: signal.signal(number, signal.SIG_IGN) for number in _DEAF}
        wake, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        if _CLOCK.now() >= self._kill_at:
            self._tell("late")
            return
        self._start(before)
        while not self._reap():
            if not self._running or self._doomed:
                offspring.kill_all()
                wait = _HASTE
            else:
                wait = self._obey_the_clock()
            ready, _, _ = select.select((wake, *(() if self._doomed else (self._control,))), (), (), wait)
            if wake in ready:
                with suppress(BlockingIOError):
                    os.read(wake, PACKET)
            if self._control in ready:
                self._hear(os.read(self._control, PACKET))
        if self._deserted or (self._warned and offspring.is_stopped(os.getppid())):  # else it says so itself
            with suppress(OSError):
                os.write(2, f"error: {self._command[0]} was ended: who runs it was stopped for too long\n".encode())

    def _start(self, before: Mapping[signal.Signals, object]) -> None:
        told, tell = os.pipe2(os.O_CLOEXEC)
        mine = os.getpid()
        self._pid = os.fork()
        if not self._pid:
            self._become(mine, before, tell)
        os.close(tell)
        with suppress(OSError):  # it does so itself, too: whoever comes first
            os.setpgid(self._pid, self._pid)
        problem = os.read(told, PACKET)  # nothing once it runs
        os.close(told)
        self._running = True
        self._tell(f"failed {problem.decode()}" if problem else f"started {self._pid}")

    def _become(self, parent: int, before: Mapping[signal.Signals, object], tell: int) -> None:
        """In the child: set the stage, then execute the command."""
        try:
            os.setpgid(0, 0)
            if not offspring.die_with(parent):
                os._exit(1)
            if self._foreground:
                with suppress(OSError):  # the terminal was hung up
                    os.tcsetpgrp(0, os.getpid())
            signal.set_wakeup_fd(-1)
            for number, how in before.items():  # Python's own ignoring of SIGPIPE is no business of the command
                keeps = how is signal.SIG_IGN and number not in (signal.SIGPIPE, signal.SIGXFSZ)
                signal.signal(number, signal.SIG_IGN if keeps else signal.SIG_DFL)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(self._control)
            os.execvp(self._command[0], self._command)  # noqa: S606  # no shell: the command is a list
        except OSError as error:
            os.write(tell, str(error.errno).encode())
        finally:
            os._exit(1)

    def _obey_the_clock(self) -> float:
        """Warn or kill if it is time; the seconds until there is more to do."""
        verdict, wait = judge(_CLOCK.now(), warn_at=self._warn_at, kill_at=self._kill_at, warned=self._warned)
        if verdict is Verdict.WARN:
            self._warned = True
            self._tell("warned")
            self._signal(signal.SIGTERM, everybody=True)
            self._signal(signal.SIGCONT, everybody=True)  # a stopped process takes no other signal
        elif verdict is Verdict.KILL:
            self._deserted = offspring.is_stopped(os.getppid())  # now: it may be continued before all is reaped
            self._doom()
        return min(wait, LONGEST_WAIT)

    def _hear(self, packet: bytes) -> None:
        word, *values = packet.decode().split() or ("gone",)
        if word == "until":
            self._warn_at, self._kill_at = map(float, values)
        elif word == "signal":
            self._signal(int(values[0]), everybody=values[1] == "all")
        else:  # `kill`, or the parent is gone
            self._doom()

    def _doom(self) -> None:
        self._doomed = True
        self._signal(signal.SIGKILL, everybody=True)

    def _signal(self, number: int, *, everybody: bool) -> None:
        if self._running:  # not reaped: neither its pid nor its group's can be anybody else's
            with suppress(ProcessLookupError, PermissionError):
                (os.killpg if everybody else os.kill)(self._pid, number)

    def _reap(self) -> bool:
        """Is no child left, of one's own or adopted?"""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return True
            if not pid:
                return False
            if pid == self._pid and os.WIFSTOPPED(status):
                self._tell(f"stopped {os.WSTOPSIG(status)}")
            elif pid == self._pid:
                self._running = False
                self._tell(f"ended {status}")

    def _tell(self, packet: str) -> None:
        with suppress(OSError):  # the parent is gone, which is seen elsewhere
            os.write(self._control, packet.encode())


def main(arguments: list[str]) -> None:
    """`CONTROL WARN_AT KILL_AT FOREGROUND COMMAND...`, as `component.ward` gives them."""
    control, warn_at, kill_at, foreground, *command = arguments
    Warden(
        int(control), warn_at=float(warn_at), kill_at=float(kill_at), foreground=foreground == "1", command=command
    ).run()
