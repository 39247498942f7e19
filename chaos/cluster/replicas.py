"""The replicas of a supervised cluster."""

from __future__ import annotations

import socket
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaos.cluster.keeper import Keeper
from chaos.cluster.plan import HOST, environment, port_for
from chaos.cluster.service import Place
from chaos.cluster.state import ReplicaState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from chaos.cluster.plan import Plan
    from chaos.cluster.ways import Ways
    from component.clock import Clock
    from component.process import Child


@dataclass(frozen=True, slots=True)
class ReplicaStart:
    """One start of one replica.

    Attributes:
        port: Of its HTTP endpoints.
        presence: Where it listens for the others, `host:port`; "": wherever it likes.
        advertised: What the others dial for that.
        endpoints: etcd's members, as it dials them.
    """

    plan: Plan
    name: str
    identity: str
    port: int
    presence: str
    advertised: str
    endpoints: tuple[str, ...]
    log: Path
    trace: Path

    @classmethod
    def of(cls, plan: Plan, ways: Ways, name: str, restarts: int, before: ReplicaStart | None) -> ReplicaStart:
        """A start with a new identity. Its trace file is its own: the last line of its predecessor's may be torn."""
        advertised = ways.presence(name)
        presence = ""
        if advertised:
            presence = f"{HOST}:{port_for(int(before.presence.rpartition(':')[2]) if before is not None else 0)}"
        return cls(
            plan=plan,
            name=name,
            identity=f"{socket.gethostname()}_{uuid.uuid4()}",
            port=port_for(before.port if before is not None else 0),
            presence=presence,
            advertised=advertised,
            endpoints=ways.endpoints(name),
            log=plan.logs / f"{name}.log",
            trace=plan.traces / f"{name}.{restarts}.jsonl",
        )

    @property
    def title(self) -> str:
        return self.identity

    @property
    def http(self) -> str:
        return f"http://{HOST}:{self.port}"

    def command(self) -> list[str]:
        if self.plan.service:
            return self._place.command(self.plan.service)
        presence = (f"--presence-bind={self.presence}", f"--presence-advertise={self.advertised}")
        return [
            *self.plan.program,
            "run",
            f"--endpoints={','.join(self.endpoints)}",
            f"--prefix={self.plan.prefix}",
            f"--identity={self.identity}",
            f"--bind-address={HOST}",
            f"--secure-port={self.port}",
            *(presence if self.presence else ()),
            f"--trace-file={self.trace}",
            "--logging-format=json",
            *self.plan.flags,
        ]

    def environment(self) -> dict[str, str]:
        own = self._place.environment() if self.plan.service else {}
        return {**environment(), **own, **self.plan.environment.get(self.name, {})}

    @property
    def _place(self) -> Place:
        """What a service in place of a replica is given."""
        namespace, _, lock = self.plan.lock.partition("/")
        lease, renew, retry = self.plan.timing
        return Place(
            endpoints=self.endpoints,
            prefix=self.plan.prefix,
            namespace=namespace,
            lock=lock,
            identity=self.identity,
            name=self.name,
            host=HOST,
            port=self.port,
            presence=self.presence or f"{HOST}:0",
            advertise=self.advertised,
            trace=str(self.trace),
            lease=lease,
            renew=renew,
            retry=retry,
        )


class Replicas(Keeper[ReplicaStart]):
    """Owned by one thread. They end with this process."""

    def __init__(self, plan: Plan, ways: Ways, *, clock: Clock, tell: Callable[[str], None] = lambda _: None) -> None:
        def prepare(name: str, restarts: int, before: ReplicaStart | None) -> ReplicaStart:
            return ReplicaStart.of(plan, ways, name, restarts, before)

        def started(start: ReplicaStart, child: Child) -> None:
            ways.moved(start.name, child.pid, start.presence)

        super().__init__(prepare, started=started, restart=plan.restart, clock=clock, tell=tell)

    def state(self) -> tuple[ReplicaState, ...]:
        """As cluster.json tells it. One that has ended is shown as it was, until it starts again."""
        return tuple(
            ReplicaState(
                name=slot.start.name,
                identity=slot.start.identity,
                pid=slot.child.pid,
                started=slot.child.process.started,
                http=slot.start.http,
                log=str(slot.start.log),
                trace=str(slot.start.trace),
                restarts=slot.restarts,
                presence=slot.start.presence,
            )
            for slot in self.slots
        )
