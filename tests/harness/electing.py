"""`lockctl elect` as processes, around a script that tells when it runs and under which token."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from component.process import Gone, Process
from tests.harness.wait import eventually

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from lockd.etcd.connection import Connection

ROOT = Path(__file__).resolve().parents[2]
LOCKCTL = (sys.executable, "-m", "lockd.ctl")

_TOKEN = b"LOCKD_FENCING_TOKEN="

DIARY = """
import os, sys, time
file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
while True:
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    os.write(file, b"%s %.6f\\n" % (os.environb[b"LOCKD_FENCING_TOKEN"], now))
    time.sleep(0.02)
"""
"""Appends its token and the time to a file, again and again."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the script, as its lines tell: from its first to its last, in seconds of CLOCK_BOOTTIME."""

    token: int
    first: float
    last: float


def runs(diary: Path) -> list[Run]:
    """The runs, by their tokens."""
    found: dict[int, Run] = {}
    for line in diary.read_text(encoding="ascii").splitlines() if diary.exists() else ():
        token, moment = int(line.split()[0]), float(line.split()[1])
        run = found.get(token, Run(token, moment, moment))
        found[token] = Run(token, min(run.first, moment), max(run.last, moment))
    return [found[token] for token in sorted(found)]


def overlaps(told: Sequence[Run], *, forgiven: frozenset[int] = frozenset()) -> list[tuple[Run, Run]]:
    """Runs at one time, but for those whose older one is forgiven."""
    return [
        (old, new)
        for index, old in enumerate(told)
        for new in told[index + 1 :]
        if old.last >= new.first and old.token not in forgiven
    ]


class Elect:
    """One `lockctl elect`, in a process group of its own. A context manager that leaves nothing of it behind."""

    def __init__(
        self,
        name: str,
        *words: str,
        connection: Connection,
        prefix: str,
        options: Sequence[str] = (),
        environment: dict[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> None:
        command = (
            *LOCKCTL, "elect", name, *options, f"--endpoints={','.join(connection.endpoints)}", f"--prefix={prefix}",
            "--", *words,
        )  # fmt: skip
        self.popen = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | (environment or {}), text=True, process_group=0,
            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.process = Process.of(self.popen.pid)

    @property
    def warden(self) -> Process | None:
        """The process that keeps its command; None while there is none."""
        return _child(self.popen.pid)

    @property
    def token(self) -> int:
        """The token that its command was given; 0 while there is none."""
        warden = self.warden
        command = _child(warden.pid) if warden is not None else None
        with suppress(OSError):
            variables = Path(f"/proc/{command.pid}/environ").read_bytes().split(b"\0") if command is not None else []
            return next((int(each.partition(b"=")[2]) for each in variables if each.startswith(_TOKEN)), 0)
        return 0

    def send(self, number: signal.Signals) -> None:
        self.process.send(number)

    def end(self, *, within: float = 30.0) -> tuple[int, str, str]:
        """Its exit code, standard output and standard error, once it has ended by itself."""
        stdout, stderr = self.popen.communicate(timeout=within)
        return self.popen.returncode, stdout, stderr

    def close(self) -> None:
        for process in (self.process, self.warden):
            if process is not None:
                with suppress(Gone):
                    process.send(signal.SIGCONT)
        with suppress(Gone):
            self.process.send(signal.SIGKILL)
        self.popen.communicate(timeout=30.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _child(pid: int) -> Process | None:
    """The first child of a process."""
    with suppress(OSError, Gone):
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        for child in (child for task in tasks for child in task.read_text().split()):
            return Process.of(int(child))
    return None


def wait_for(path: Path, *, within: float = 30.0) -> str:
    """What a file holds, once it holds something."""
    return eventually(lambda: path.exists() and path.read_text(), within=within, what=f"something in {path}")
