"""One etcd process of our own, over all its restarts."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from typing import TYPE_CHECKING

from component.process import Child, Gone

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from component.clock import Clock


class Member:
    """An etcd process on its ports and data.

    Attributes:
        endpoint: `host:port` for clients.
        data_dir: Its data.
        log: What it writes.
    """

    def __init__(self, name: str, endpoint: str, command: Sequence[str], folder: Path, clock: Clock) -> None:
        self.name = name
        self.endpoint = endpoint
        self.data_dir = folder / name
        self.log = folder / f"{name}.log"
        self._command = tuple(command)
        self._clock = clock
        self._child: Child | None = None

    @property
    def child(self) -> Child:
        """Its process, running or not.

        Raises:
            Gone: It was never started.
        """
        if self._child is None:
            raise Gone(f"etcd member {self.name} was not started")
        return self._child

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def started(self) -> int:
        """When its process began, in clock ticks since boot."""
        return self.child.process.started

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.exit_code is None

    def start(self) -> None:
        """Start its process; it isn't ready yet."""
        self._child = Child(self._command, log=self.log, environment=_environment())

    def kill(self) -> None:
        """End it without warning."""
        self.child.kill()

    def stop(self, seconds: float = 3.0) -> None:
        """End it in good order, or kill it after so many seconds."""
        if self._child is not None:
            self._child.end(seconds, clock=self._clock)

    def pause(self) -> None:
        """Stop it where it stands (SIGSTOP)."""
        self.child.pause(clock=self._clock)

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        self.child.resume()

    def last_words(self, lines: int = 5) -> str:
        """The end of its log."""
        with suppress(OSError):
            return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
        return ""


def _environment() -> dict[str, str]:
    """Ours without etcd's own variables, which would be taken for flags."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ETCD")}
    if platform.machine() == "aarch64":
        environment["ETCD_UNSUPPORTED_ARCH"] = "arm64"  # 3.4 asks for it
    return environment
