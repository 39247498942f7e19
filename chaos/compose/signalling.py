"""Signals to the process inside a container: as its own crash or end would be, so that its restart policy acts.

What `docker kill` ends, the engine takes for something that a person wants ended, and leaves ended.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from component.process import Gone, Process
from lockd.errors import LockdError

if TYPE_CHECKING:
    from chaos.compose.container import Container
    from chaos.compose.engine import Engine
    from component.clock import Clock

INITS: Final = ("docker-init", "tini", "dumb-init", "catatonit", "s6-svscan")
"""What may stand before the program as the first process, and hands it signals."""

_INSIDE: Final = (
    'read -r first </proc/1/comm; case "$first" in '
    + "|".join(INITS)
    + ') for child in $(cat /proc/1/task/1/children); do kill -"$0" "$child"; exit; done;; esac; '
    '[ "$0" = KILL ] && exit 9; kill -"$0" 1'
)
"""Said to a shell inside: signal what the init process started; a first process of one's own takes no SIGKILL."""

_UNKILLABLE: Final = 9
_ENDED_WITH_IT: Final = 137
"""What a command inside ends with when its container does."""

APART: Final = 5.0
"""Seconds by which the engine and the kernel may differ about when a process began."""

_NO_SHELL: Final = (126, 127)


class Unreachable(LockdError):
    """The process inside a container can't be signalled; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class Aim:
    """At the process inside a container, found before it is signalled: finding takes longer.

    Attributes:
        process: What it is on this host; None: its engine is elsewhere.
    """

    engine: Engine
    container: Container
    process: Process | None

    @classmethod
    def at(cls, engine: Engine, container: Container, clock: Clock) -> Self:
        """Find it.

        Raises:
            Gone: It has ended.
        """
        if not container.running:
            raise Gone(f"{container.name} has ended")
        return cls(engine, container, on_this_host(container, clock))

    def send(self, number: signal.Signals) -> None:
        """Signal it: as a process of this host where it is one, else from inside by a shell.

        Raises:
            Gone: It has ended.
            Unreachable: It can't be signalled.
            EngineError: The engine can't be asked.
        """
        if self.process is not None:
            try:
                self.process.send(number)
            except PermissionError:
                pass  # not as this user: from inside, then
            else:
                return
        _send_inside(self.engine, self.container, number)


def _send_inside(engine: Engine, container: Container, number: signal.Signals) -> None:
    code, said = engine.run(container.id, ("sh", "-c", _INSIDE, number.name.removeprefix("SIG")))
    if code == _UNKILLABLE and number is signal.SIGKILL:
        raise Unreachable(
            f"{container.name} can't be killed from inside: give its service `init: true`, or run as root"
        )
    if code in _NO_SHELL:
        raise Unreachable(f"{container.name} has no shell to be killed by: run as root on the engine's host")
    if code == _ENDED_WITH_IT and number is signal.SIGKILL:
        return  # the shell had no time to say that it was done
    if code:
        raise Gone(f"{container.name} has ended ({' '.join(said.split())[:100]})")


def on_this_host(container: Container, clock: Clock) -> Process | None:
    """What the container runs, as a process of this host; None: its engine is elsewhere, as Docker Desktop's is.

    Under an init process that is its first child: what crashes is the program. A process of this host that has the
    pid of one elsewhere is told by when it began.
    """
    try:
        first = Process.of(container.pid)
    except Gone:
        return None
    if not _is_first(container.pid) or abs(began(first, clock) - container.started / 1e9) > APART:
        return None
    try:
        children = Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text(encoding="ascii").split()
        name = Path(f"/proc/{container.pid}/comm").read_text(encoding="utf-8").strip()
        return Process.of(int(children[0])) if children and name in INITS else first
    except (OSError, Gone):
        return first


def began(process: Process, clock: Clock) -> float:
    """When a process of this host did, in wall seconds."""
    return clock.wall() - clock.now() + process.started / os.sysconf("SC_CLK_TCK")


def _is_first(pid: int) -> bool:
    """Is it the first process of a namespace of pids within ours?"""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    pids = next((line.split()[1:] for line in lines if line.startswith("NSpid:")), [])
    return len(pids) > 1 and pids[-1] == "1"
