"""A compose project that is there already, and stays: a run hurts it, and takes nothing down."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from chaos.compose.cluster import ComposeCluster
from chaos.compose.gathering import gather
from chaos.compose.health import ask
from chaos.compose.remedies import ComposeRemedies
from chaos.faults.errors import NotAvailable
from chaos.faults.fault import Need
from chaos.faults.place import Place

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from chaos.cluster.health import Health
    from chaos.cluster.plan import Plan
    from chaos.compose.access import Access
    from chaos.compose.finding import Found
    from component.clock import Clock
    from lockd.etcd.connection import Connection
    from lockd.etcd.gateway import Gateway
    from lockd.ports import LockName


@contextlib.contextmanager
def entered(found: Found, gateway: Gateway, lock: LockName, *, folder: Path | None, clock: Clock) -> Iterator[Place]:
    """A project that is there already as a place for faults: those of etcd ask for its owner's word.

    Raises:
        EngineError: The engine can't be asked.
    """
    with ComposeCluster(found.engine, found.name, gateway, lock, clock=clock) as made:
        remedies = ComposeRemedies(made)
        yield Place(cluster=made, gateway=gateway, lock=lock, remedies=remedies, folder=folder, marked=False)


class AdoptedStanding:
    """A `chaos.backend.interface.Standing`: somebody's own project."""

    has_data = False
    stays = True

    def __init__(self, found: Found, connection: Connection, plan: Plan, clock: Clock) -> None:
        self.connection = connection
        self._found = found
        self._plan = plan
        self._clock = clock
        self._began = clock.wall()

    @contextlib.contextmanager
    def place(self, gateway: Gateway, lock: LockName) -> Iterator[Place]:
        with entered(self._found, gateway, lock, folder=self._plan.folder, clock=self._clock) as place:
            yield place

    def gather(self) -> None:
        """Have what containers wrote meanwhile in the log folder; traces go where their owner sends them."""
        engine = self._found.engine
        gather(engine, engine.containers(self._found.name), self._plan.logs, since=self._began)


class AdoptedBackend:
    """A `chaos.backend.interface.Backend`."""

    name = "compose"
    lingers = 0.0  # nothing of it writes in the folder of a run
    traced = False

    def __init__(self, found: Found, access: Access) -> None:
        self._found = found
        self._access = access

    def equipped(self, plan: Plan, needs: Collection[Need]) -> Plan:
        if lacking := sorted(each.value for each in needs if each is not Need.NETWORKS):
            raise NotAvailable(
                f"the project {self._found.name} was not made with what it takes ({', '.join(lacking)}): leave "
                "--project out, and --backend compose makes one that was"
            )
        roster = self._found.roster
        return replace(plan, prefix=self._found.prefix, members=len(roster.members), replicas=len(roster.replicas))

    @contextlib.contextmanager
    def standing(
        self, plan: Plan, *, clock: Clock, stop: threading.Event, progress: Callable[[Health], None]
    ) -> Iterator[AdoptedStanding]:
        del stop  # nothing is waited for: the steady state is
        for folder in (plan.logs, plan.traces):
            folder.mkdir(parents=True, exist_ok=True)
        progress(ask(self._found.roster))
        yield AdoptedStanding(self._found, self._access.to(self._found), plan, clock)
