"""The guard: a small process that heals what would stay if this one were killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from chaos.faults import remedies
from chaos.faults.errors import NotApplied

if TYPE_CHECKING:
    from typing import Self

    from chaos.faults.remedies import Remedy

PATIENCE: Final = 20.0
"""Seconds that it may take to end, once it has nothing left to heal."""


class Guard(Protocol):
    """Keeps remedies."""

    def promise(self, remedy: Remedy) -> Promise:
        """Have it done if this process is killed from now on. Ask before the fault is applied, not after.

        Raises:
            NotApplied: There is no guard to be had.
        """
        ...


class Promise(Protocol):
    """A remedy that is kept."""

    def release(self) -> None:
        """It is not needed any more: the fault is healed."""
        ...


@dataclass(frozen=True, slots=True)
class _Kept:
    guard: GuardProcess
    number: int

    def release(self) -> None:
        self.guard.forget(self.number)


class GuardProcess:
    """A `Guard`; its process begins with `start`, and ends with `close` or, having healed, with us."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._number = 0
        self._kept: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Begin, and don't wait until it is there: a promise does."""
        with self._lock:
            if self._process is None:
                self._process = _start()

    def promise(self, remedy: Remedy) -> _Kept:
        with self._lock:
            if self._process is None:
                self._process = _start()
            self._number += 1
            if not self._say(self._process, self._number, f"+ {self._number} {remedies.encode(remedy)}"):
                raise NotApplied("the guard process, which heals if this one is killed, does not answer")
            self._kept.add(self._number)
            return _Kept(self, self._number)

    def forget(self, number: int) -> None:
        """Drop a remedy."""
        with self._lock:
            self._kept.discard(number)
            if self._process is not None:
                self._say(self._process, number, f"- {number}")

    def close(self) -> None:
        """End it. What it still keeps is done first."""
        with self._lock:
            process, self._process = self._process, None
        if process is None or process.stdin is None or process.stdout is None:
            return
        with suppress(OSError):
            process.stdin.close()
        if not self._kept:
            process.kill()  # it may be starting still, and has nothing to do
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def _say(self, process: subprocess.Popen[str], number: int, line: str) -> bool:
        """Send a line and have it confirmed."""
        if process.stdin is None or process.stdout is None:
            return False
        try:
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            return process.stdout.readline().strip() == str(number)
        except OSError:
            return False


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        (sys.executable, "-m", "chaos.faults.guardian"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
        start_new_session=True,  # what ends us, a terminal's signals too, is not to end it
    )
