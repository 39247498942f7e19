"""What heals a fault of a container without the tool that applied it: plain values, and what each one does."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chaos.cluster.hosted import Continue
from chaos.compose.roster import is_named
from chaos.errors import TooSlow
from component.clock import SystemClock
from component.process import Gone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.cluster.interface import Membership, Target
    from chaos.compose.cluster import ComposeCluster
    from chaos.compose.engine import Engine
    from component.clock import Clock

REMOVING: Final = 60.0
"""Seconds that a project may take to be removed."""

LOOK: Final = 1.0
"""Seconds after which nothing may have come to be any more: compose may have asked for something before its end."""


@dataclass(frozen=True, slots=True)
class Unpause:
    """A paused container goes on."""

    container: str

    def do(self) -> str:
        from chaos.compose.engine import DockerEngine  # noqa: PLC0415

        with contextlib.suppress(Gone):
            DockerEngine().unpause(self.container)
        return f"container {self.container[:12]} goes on"


@dataclass(frozen=True, slots=True)
class Revive:
    """A container that has ended is started again."""

    container: str

    def do(self) -> str:
        from chaos.compose.engine import DockerEngine  # noqa: PLC0415

        with contextlib.suppress(Gone):
            DockerEngine().start(self.container)
        return f"container {self.container[:12]} runs"


@dataclass(frozen=True, slots=True)
class Rejoin:
    """A container is put back into its networks."""

    container: str
    memberships: tuple[Membership, ...]

    def do(self) -> str:
        from chaos.compose.engine import DockerEngine  # noqa: PLC0415

        engine = DockerEngine()
        with contextlib.suppress(Gone):
            for each in self.memberships:
                engine.join(self.container, each)
        return f"container {self.container[:12]} is in {', '.join(each.network for each in self.memberships)}"


@dataclass(frozen=True, slots=True)
class Remove:
    """A project that was made for a run is removed."""

    project: str

    def do(self) -> str:
        from chaos.compose.engine import DockerEngine  # noqa: PLC0415

        remove(DockerEngine(), self.project, clock=SystemClock())
        return f"the compose project {self.project} is removed"


def remove(engine: Engine, project: str, *, clock: Clock) -> None:
    """Remove a project until nothing is left of it, and nothing comes any more.

    Raises:
        TooSlow: Something is left; says how to remove it.
        EngineError: The engine can't be asked.
    """
    never, before = threading.Event(), False
    end = clock.now() + REMOVING
    while not ((nothing := engine.remove(project)) and before):
        if clock.now() >= end:
            raise TooSlow(f"something of the compose project {project} is left: docker compose -p {project} down -v")
        before = nothing
        clock.wait(never, LOOK)


class ComposeRemedies:
    """The `chaos.faults.remedies.Remedies` of a cluster of containers."""

    def __init__(self, cluster: ComposeCluster) -> None:
        self._cluster = cluster

    def go_on(self, target: Target) -> Unpause | Continue:
        if not is_named(target.name):
            return Continue(target.pid, target.started)
        return Unpause(self._cluster.container(target).id)

    def start(self, target: Target) -> Revive:
        return Revive(self._cluster.container(target).id)

    def join(self, target: Target, memberships: Sequence[Membership]) -> Rejoin:
        return Rejoin(self._cluster.container(target).id, tuple(memberships))
