"""A cluster of processes on this host, described by the cluster.json of its folder."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Final

from chaos.cluster import health
from chaos.cluster import state as files
from chaos.cluster.hosted import Hosted
from chaos.cluster.interface import End, Target
from chaos.cluster.process import eventually
from chaos.control import Caller, Refused, Unheard
from chaos.errors import NotStarted, TooSlow
from chaos.proxy.links import ProxyLinks
from component.clock import SystemClock
from component.process import Process
from lockd.errors import StoreError
from lockd.ports import LockName
from lockd.record import LeaderRecord

if TYPE_CHECKING:
    from pathlib import Path

    from chaos.cluster.state import ClusterState
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway

TIMEOUT: Final = 5.0
"""Seconds that etcd may take to name the leader."""

STARTING: Final = 30.0
"""Seconds until whoever was started again must listen."""

ASKING: Final = 1.0
"""Seconds that one member may take to say who leads."""


class LocalCluster(Hosted):
    """A `chaos.cluster.interface.Cluster` of local processes. Any process of this host may hold one.

    Args:
        lock: `<namespace>/<name>` of the lock that the replicas contend for.
    """

    def __init__(
        self,
        folder: Path,
        gateway: Gateway,
        *,
        lock: str = "kube-system/kube-scheduler",
        clock: Clock | None = None,
    ) -> None:
        super().__init__(clock or SystemClock())
        self._folder = folder
        self._gateway = gateway
        self._lock = lock

    def state(self) -> ClusterState:
        """As the supervisor tells it now.

        Raises:
            NoCluster: It has ended.
        """
        return files.read(self._folder)

    def replicas(self) -> tuple[Target, ...]:
        return tuple(
            Target(replica.name, replica.identity, replica.pid, replica.started, replica.http)
            for replica in self.state().replicas
        )

    def etcd_members(self) -> tuple[Target, ...]:
        return tuple(
            Target(member.name, member.name, member.pid, member.started, member.endpoint)
            for member in self.state().etcd
        )

    def daemons(self) -> tuple[Target, ...]:
        return tuple(
            Target(daemon.name, _instance(daemon.pid), daemon.pid, daemon.started, daemon.address)
            for daemon in self.state().daemons
        )

    def ends(self) -> tuple[End, ...]:
        state = self.state()
        replicas = {replica.name for replica in state.replicas}
        return tuple(
            End(end.name, end.identity if end.name in replicas else _instance(end.pid), end.code, end.at)
            for end in state.ends
        )

    def links(self) -> ProxyLinks | None:
        found = self.state().links
        return ProxyLinks(found.control) if found is not None else None

    def networks(self) -> None:
        """All of them share that of this host."""

    def evidence(self, target: Target, what: str, since: float) -> str:  # noqa: ARG002  # what is seen is all there is
        return ""

    def endpoints(self) -> tuple[str, ...]:
        return tuple(member.endpoint for member in self.state().etcd)

    def etcd_leader(self) -> Target | None:
        newest, leader = 0, None
        for member in self.etcd_members():
            with contextlib.suppress(StoreError):
                status = self._gateway.status(member.address, timeout=ASKING)
                if status.leader == status.member_id and status.raft_term > newest:
                    newest, leader = status.raft_term, member
        return leader

    def leader(self) -> Target | None:
        namespace, _, name = self._lock.partition("/")
        key = LockName(self.state().prefix, namespace, name).lease
        found = self._gateway.range(key, timeout=TIMEOUT).kvs
        record = LeaderRecord.parse(found[0].value) if found else None
        holder = record.holder_identity if record is not None else ""
        return next((replica for replica in self.replicas() if replica.identity == holder), None)

    def start(self, target: Target) -> Target:
        try:
            with Caller(self.state().control, timeout=STARTING) as caller:
                answer = caller.ask("start", name=target.name)
        except (Unheard, Refused) as error:
            raise NotStarted((f"{target.name} can't be started: {error}",), 1) from error
        process = Process(**answer)

        def shown() -> Target | None:
            everybody = (*self.replicas(), *self.etcd_members(), *self.daemons())
            return next(
                (each for each in everybody if (each.pid, each.started) == (process.pid, process.started)), None
            )

        def listens() -> bool:
            there = shown()
            return there is not None and health.is_dialled(there.address)

        eventually(lambda: not process.alive or listens(), clock=self._clock, within=STARTING)
        found = shown()
        if not process.alive:
            raise NotStarted((f"{target.name} ended again at once: see {self._folder}",), 1)
        if found is None or not health.is_dialled(found.address):
            raise TooSlow(f"{target.name} does not listen within {STARTING:g} s of its start: see {self._folder}")
        return found


def _instance(pid: int) -> str:
    """How a `lockd` calls itself in its telemetry."""
    return f"{socket.gethostname()}_{pid}"
