"""A cluster of real processes for one run of a benchmark, and nothing left of it afterwards."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chaos.cluster import launch
from chaos.cluster.local import LocalCluster
from chaos.cluster.plan import Plan
from chaos.errors import Interrupted, TooSlow
from lockd.etcd.connection import Connection
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from lockd.ports import LockName

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from chaos.cluster.health import Health
    from chaos.cluster.state import ClusterState
    from component.clock import Clock
    from component.progress import Progress

PERIOD: Final = 0.5
"""Seconds between renewals: several times more often than by default, so that a short run has many."""

TIMING: Final = (
    "--leader-elect-lease-duration=15s",
    "--leader-elect-renew-deadline=10s",
    f"--leader-elect-retry-period={PERIOD:g}s",
)

STEP: Final = 2.0
"""Seconds between two looks. The leader pays for each, ten milliseconds for all its metrics; no figure hangs on it."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What every benchmark is given.

    Attributes:
        folder: Where clusters are made, in folders that are removed; None: among temporary files.
        pods: How many are bound in a run.
        stop: Gives up at once.
    """

    folder: Path | None
    pods: int
    progress: Progress
    stop: threading.Event
    clock: Clock

    def until(self, condition: Callable[[], bool], *, within: float, what: str) -> None:
        """Look until `condition` holds.

        Raises:
            TooSlow: Time is up.
            Interrupted: `stop` was set.
        """
        end = self.clock.now() + within
        while not condition():
            if self.clock.now() >= end:
                raise TooSlow(f"{what} after {within:g} s")
            if self.clock.wait(self.stop, STEP):
                raise Interrupted("stopped by a signal; the cluster is taken down")


@dataclass(frozen=True, slots=True)
class Rig:
    """A healthy cluster."""

    plan: Plan
    state: ClusterState
    gateway: Gateway
    cluster: LocalCluster
    lock: LockName

    def processes(self) -> dict[str, int]:
        """The pids of members and replicas, by name."""
        members = {one.name: one.pid for one in self.state.etcd}
        return members | {one.name: one.pid for one in self.state.replicas}

    def connect(self, purpose: str, clock: Clock) -> Gateway:
        """Another way to etcd, which the caller closes."""
        return Gateway(Connection(endpoints=self.state.endpoints), purpose=purpose, witness=Witness(), clock=clock)


@contextmanager
def rig(bench: Bench, *, replicas: int = 3) -> Iterator[Rig]:
    """Three members and so many replicas, which are not started again when they end.

    Raises:
        NotStarted, TooSlow, Interrupted: It didn't become healthy.
    """
    with tempfile.TemporaryDirectory(prefix="lockd-bench-", dir=bench.folder, ignore_cleanup_errors=True) as name:
        plan = Plan(folder=Path(name), replicas=replicas, restart=False, flags=TIMING)
        told = f"start {plan.members} etcd members and {replicas} replicas"

        def healthy(health: Health) -> None:
            bench.progress(told, health.parts, health.of)

        supervisor = launch.launch(plan, leashed=True)
        try:
            state = launch.await_health(plan, supervisor, bench.stop, progress=healthy, clock=bench.clock)
            connection = Connection(endpoints=state.endpoints)
            gateway = Gateway(connection, purpose="bench", witness=Witness(), clock=bench.clock)
            try:
                cluster = LocalCluster(plan.folder, gateway, clock=bench.clock)
                yield Rig(plan, state, gateway, cluster, LockName(plan.prefix, "kube-system", "kube-scheduler"))
            finally:
                gateway.close()
        finally:
            supervisor.end(clock=bench.clock)
