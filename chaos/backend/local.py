"""Clusters of processes of this host."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from chaos.cluster import launch
from chaos.cluster.local import LocalCluster
from chaos.faults import equipment
from chaos.faults.place import Place
from chaos.faults.remedies import LocalRemedies
from lockd.etcd.connection import Connection

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection, Iterator

    from chaos.cluster.health import Health
    from chaos.cluster.plan import Plan
    from chaos.faults.fault import Need
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.ports import LockName


class LocalStanding:
    """A `chaos.backend.interface.Standing`."""

    has_data = True
    stays = False

    def __init__(self, plan: Plan, endpoints: tuple[str, ...], clock: Clock) -> None:
        self.connection = Connection(endpoints=endpoints)
        self._plan = plan
        self._clock = clock

    @contextlib.contextmanager
    def place(self, gateway: Gateway, lock: LockName) -> Iterator[Place]:
        folder = self._plan.folder
        cluster = LocalCluster(folder, gateway, lock=f"{lock.namespace}/{lock.name}", clock=self._clock)
        yield Place(cluster=cluster, gateway=gateway, lock=lock, remedies=LocalRemedies(folder), folder=folder)

    def gather(self) -> None:
        """They write there themselves."""


class LocalBackend:
    """A `chaos.backend.interface.Backend`."""

    name = "local"
    lingers = 0.0
    traced = True

    def equipped(self, plan: Plan, needs: Collection[Need]) -> Plan:
        return equipment.equipped(plan, needs)

    @contextlib.contextmanager
    def standing(
        self, plan: Plan, *, clock: Clock, stop: threading.Event, progress: Callable[[Health], None]
    ) -> Iterator[LocalStanding]:
        supervisor = launch.launch(plan, leashed=True)
        try:
            state = launch.await_health(plan, supervisor, stop, progress=progress, clock=clock)
            yield LocalStanding(plan, state.endpoints, clock)
        finally:
            supervisor.end(clock=clock)
