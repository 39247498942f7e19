"""One cluster under test, as tests hold it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from chaos.auditor import Auditor
from chaos.cluster.sweeping import swept
from chaos.faults.errors import NotAvailable
from chaos.pytest.backends import ensure
from chaos.pytest.settings import counted
from chaos.runner.steady import SteadyState
from chaos.scenario.backends import COMPOSE
from chaos.timing import Timing
from chaos.workloads.idle import Idle
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from lockd.ports import LockName

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from pathlib import Path

    from chaos.backend.interface import Standing
    from chaos.cluster.interface import Cluster, Target
    from chaos.faults.place import Place
    from chaos.pytest.settings import Shape
    from chaos.runner.choosing import Chosen
    from component.clock import Clock
    from lockd.etcd.connection import Connection

PROBES: Final = ("etcd-healthy", "leader", "replicas-ready")
"""What must hold of a cluster before a test gets it, and again after it."""

READ: Final = 60.0
"""Seconds that etcd may take to tell what happened before the first test."""

STEADY: Final = 60.0
"""Seconds, and four leases, that a cluster may take to be as before. A bound: most take one or two seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HaCluster:
    """A cluster under test.

    Attributes:
        place: Where faults are applied to it.
        folder: Its logs and traces.
        timing: Of its elections.
        members: How many etcd members it has.
        told: What it is, in words. What the user's own project is need not be what was asked for.
        auditor: Has read etcd's history from its first revision on.
        traced: Do its replicas write traces that are read here?
        standing: As its backend made it.
    """

    shape: Shape
    place: Place = field(repr=False)
    connection: Connection
    folder: Path
    timing: Timing
    traced: bool
    members: int
    told: str
    auditor: Auditor = field(repr=False)
    standing: Standing = field(repr=False)
    steady: SteadyState = field(repr=False)

    @property
    def cluster(self) -> Cluster:
        """What can be asked of it, and done to it: see `chaos.cluster.interface`."""
        return self.place.cluster

    @property
    def gateway(self) -> Gateway:
        """To etcd's members, past all links."""
        return self.place.gateway

    @property
    def lock(self) -> LockName:
        """What its replicas contend for."""
        return self.place.lock

    @property
    def prefix(self) -> str:
        """Of the lock's keys, without a slash at its end."""
        return self.lock.prefix

    @property
    def endpoints(self) -> tuple[str, ...]:
        """etcd's members, `host:port`."""
        return self.connection.endpoints

    def environment(self) -> dict[str, str]:
        """The variables by which `replicactl`, `lockctl` and others find this cluster."""
        files = {each: getattr(self.connection, each) for each in ("cacert", "cert", "key")}
        names = {"LOCKD_TLS_SERVER_NAME": ",".join(self.connection.names)} if self.connection.names else {}
        return {
            "ETCDCTL_ENDPOINTS": ",".join(self.endpoints),
            **{f"ETCDCTL_{name.upper()}": str(path) for name, path in files.items() if path is not None},
            **names,
            "LOCKD_PREFIX": self.prefix,
        }

    def replicas(self) -> tuple[Target, ...]:
        """The replicas, running or just ended, by name."""
        return tuple(self.cluster.replicas())

    def etcd_members(self) -> tuple[Target, ...]:
        """The etcd members, running or just ended, by name."""
        return tuple(self.cluster.etcd_members())

    def leader(self) -> Target | None:
        """The replica that holds the lease by etcd's word; None: nobody, or a stranger.

        Raises:
            StoreError: etcd can't be asked.
        """
        return self.cluster.leader()

    @property
    def patience(self) -> float:
        """Seconds that anything may take which follows from a fault, at most."""
        return STEADY + 4 * self.timing.lease_duration

    def verify(self, stop: threading.Event) -> None:
        """Wait until all of it is well: etcd's members agree, somebody leads, every replica is ready.

        Raises:
            NotSteady: It was not in `patience` seconds; says what was not.
            Interrupted: `stop` was set.
            NoCluster: It has ended.
        """
        self.steady.wait(PROBES, within=self.patience, stop=stop)


@contextlib.contextmanager
def raised(chosen: Chosen, shape: Shape, folder: Path, *, stop: threading.Event, clock: Clock) -> Iterator[HaCluster]:
    """A cluster, with a watch that reads its history from the beginning; all of it ends with the block.

    Raises:
        Missing: What it is made of can't be had on this machine.
        LockdError, OSError: It did not come up.
    """
    ensure(chosen)
    backend = chosen.backend()
    adopted = bool(chosen.project) or chosen.file is not None
    if shape.service and chosen.name == COMPOSE and not adopted:
        raise NotAvailable("a service of your own is in a compose project of your own: name it by --ha-project")
    plan = backend.equipped(shape.plan(folder), shape.needs)
    with contextlib.ExitStack() as undo:
        undo.enter_context(swept(plan.etcd_folder))
        standing = undo.enter_context(backend.standing(plan, clock=clock, stop=stop, progress=lambda _: None))
        gateway = Gateway(standing.connection, purpose="chaos", witness=Witness(), clock=clock)
        undo.callback(gateway.close)
        namespace, _, name = shape.lock.partition("/")
        lock = LockName(plan.prefix, namespace, name)
        place = undo.enter_context(standing.place(gateway, lock))
        auditor = undo.enter_context(Auditor(gateway, plan.prefix, clock=clock))
        auditor.history(within=READ)  # what was before is brought before anything is done, and its moments tell nothing
        yield HaCluster(
            shape=shape,
            place=place,
            connection=standing.connection,
            folder=folder,
            timing=Timing.of_flags(chosen.flags()) if adopted else shape.timing,
            traced=backend.traced and not shape.service,
            members=plan.members,
            told=f"{counted(plan.replicas, plan.members)} of a project that stays" if adopted else str(shape),
            auditor=auditor,
            standing=standing,
            steady=SteadyState(place.cluster, gateway, Idle(), clock=clock),
        )
