"""Processes that end with ours, and signals that reach the right one."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from component.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from component.clock import Clock

_LEASH: Final = Path(__file__).with_name("leash.py")
_POLL: Final = 0.01
_CLOCK: Final = SystemClock()


class Gone(Exception):  # named for what happened
    """The process has ended; its pid may be somebody else's by now."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process: a pid alone may come to mean another.

    Attributes:
        started: When it began, in clock ticks since boot, as /proc tells it.
    """

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Process:
        """The process that has this pid now.

        Raises:
            Gone: None has.
        """
        found = _stat(pid)
        if found is None:
            raise Gone(f"process {pid} has ended")
        return cls(pid, found[1])

    @property
    def state(self) -> str:
        """The kernel's letter: `S` sleeping, `T` stopped, `Z` ended but not reaped ...; "" when it is gone."""
        found = _stat(self.pid)
        return found[0] if found is not None and found[1] == self.started else ""

    @property
    def alive(self) -> bool:
        return self.state not in ("", "Z", "X")

    def send(self, number: signal.Signals) -> None:
        """Signal this process and no other.

        Raises:
            Gone: It has ended.
        """
        try:
            handle = os.pidfd_open(self.pid)  # from here on the pid can't change hands unnoticed
            try:
                if not self.alive:
                    raise Gone(f"process {self.pid} has ended")
                signal.pidfd_send_signal(handle, number)
            finally:
                os.close(handle)
        except ProcessLookupError as error:
            raise Gone(f"process {self.pid} has ended") from error


class Child:
    """A process that we started, and that ends when we do, however we end."""

    def __init__(self, command: Sequence[str], *, log: Path, environment: Mapping[str, str]) -> None:
        """Start it.

        Args:
            command: Its program's path first.
            log: Gets what it writes, at the end.
            environment: All of its environment.
        """
        self.log = log
        self._popen = _nursery.call(lambda: _start(command, log, environment))
        self.process = Process.of(self._popen.pid)  # not reaped yet, so it is there even if it has ended

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; minus the signal's number if one ended it."""
        return self._popen.poll()

    def is_over(self, seconds: float, *, clock: Clock = _CLOCK) -> bool:
        """Has it ended, so that another may take its place?

        The kernel calls a process ended while some of its threads are still ending, and gives no exit code until they
        have: that is waited for, so many seconds at most.
        """
        return not self.process.alive and self.wait(seconds, clock=clock) is not None

    def wait(self, seconds: float, *, clock: Clock = _CLOCK) -> int | None:
        """Wait for its end; None if it goes on."""
        return self._popen.returncode if _until(lambda: self.exit_code is not None, seconds, clock) else None

    def kill(self) -> None:
        """End it at once, and reap it."""
        self._popen.kill()
        self._popen.wait()

    def request_end(self) -> None:
        """Ask it to end, and let it go on if it was stopped: a stopped process takes no other signal."""
        self._popen.terminate()
        self._popen.send_signal(signal.SIGCONT)

    def end(self, seconds: float, *, clock: Clock = _CLOCK) -> None:
        """Ask it to end, and kill it if it does not within so many seconds."""
        self.request_end()
        if self.wait(seconds, clock=clock) is None:
            self.kill()

    def pause(self, *, clock: Clock = _CLOCK) -> None:
        """Stop it where it stands, and return once it does.

        Raises:
            Gone: It has ended.
        """
        self.process.send(signal.SIGSTOP)
        _until(lambda: self.process.state in ("T", "t", ""), 1.0, clock)

    def resume(self) -> None:
        """Let it go on.

        Raises:
            Gone: It has ended.
        """
        self.process.send(signal.SIGCONT)


class _Nursery:
    """A thread that starts all children and never ends.

    The kernel takes the end of the thread that started a process for the death of its parent.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._tasks: queue.SimpleQueue[tuple[Callable[[], subprocess.Popen[bytes]], queue.SimpleQueue[object]]]
        self._tasks = queue.SimpleQueue()

    def call(self, task: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="component/nursery", daemon=True)
                self._thread.start()
        answer: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._tasks.put((task, answer))
        result = answer.get()
        if isinstance(result, subprocess.Popen):
            return result
        raise result if isinstance(result, BaseException) else TypeError(result)

    def _run(self) -> None:
        while True:
            task, answer = self._tasks.get()
            try:
                answer.put(task())
            except BaseException as error:  # noqa: BLE001  # it is the caller's
                answer.put(error)


_nursery: Final = _Nursery()


def _start(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    leash = (sys.executable, "-I", "-S", str(_LEASH), str(os.getpid()))
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603  # the command is a list of the caller's
            (*leash, *command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(environment),
            start_new_session=True,  # a terminal's Ctrl-C is for us: we end it in good order
        )


def _until(condition: Callable[[], bool], seconds: float, clock: Clock) -> bool:
    never = threading.Event()
    end = clock.now() + seconds
    while not condition():
        if clock.now() >= end:
            return condition()
        clock.wait(never, _POLL)
    return True


def _stat(pid: int) -> tuple[str, int] | None:
    """State and start time of whoever has this pid."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()  # what stands before may hold anything
    return fields[0], int(fields[19])
