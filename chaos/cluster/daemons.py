"""The processes of `lockd serve` of a supervised cluster."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaos.cluster.keeper import Keeper
from chaos.cluster.plan import HOST, environment, port_for
from chaos.cluster.state import DaemonState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from chaos.cluster.plan import Plan
    from chaos.cluster.ways import Ways
    from component.clock import Clock
    from component.process import Child


@dataclass(frozen=True, slots=True)
class DaemonStart:
    """One start of one `lockd serve`.

    Attributes:
        port: Where it serves locks.
        http: The port of its health checks and metrics.
        endpoints: etcd's members, as it dials them.
    """

    plan: Plan
    name: str
    port: int
    http: int
    endpoints: tuple[str, ...]
    log: Path
    trace: Path

    @classmethod
    def of(cls, plan: Plan, ways: Ways, name: str, restarts: int, before: DaemonStart | None) -> DaemonStart:
        return cls(
            plan=plan,
            name=name,
            port=port_for(before.port if before is not None else 0),
            http=port_for(before.http if before is not None else 0),
            endpoints=ways.endpoints(name),
            log=plan.logs / f"{name}.log",
            trace=plan.traces / f"{name}.{restarts}.jsonl",
        )

    @property
    def title(self) -> str:
        return f"{HOST}:{self.port}"

    def command(self) -> list[str]:
        return [
            *(sys.executable, "-m", "lockd.daemon", "serve"),
            f"--endpoints={','.join(self.endpoints)}",
            f"--prefix={self.plan.prefix}",
            f"--listen={HOST}:{self.port}",
            f"--http-listen={HOST}:{self.http}",
            f"--trace-file={self.trace}",
            "--logging-format=json",
        ]

    def environment(self) -> dict[str, str]:
        return environment()


class Daemons(Keeper[DaemonStart]):
    """Owned by one thread. They end with this process."""

    def __init__(self, plan: Plan, ways: Ways, *, clock: Clock, tell: Callable[[str], None] = lambda _: None) -> None:
        def prepare(name: str, restarts: int, before: DaemonStart | None) -> DaemonStart:
            return DaemonStart.of(plan, ways, name, restarts, before)

        def started(start: DaemonStart, child: Child) -> None:
            ways.moved(start.name, child.pid)

        super().__init__(prepare, started=started, restart=plan.restart, clock=clock, tell=tell)

    def state(self) -> tuple[DaemonState, ...]:
        """As cluster.json tells it. One that has ended is shown as it was, until it starts again."""
        return tuple(
            DaemonState(
                name=slot.start.name,
                pid=slot.child.pid,
                started=slot.child.process.started,
                address=f"{HOST}:{slot.start.port}",
                http=f"http://{HOST}:{slot.start.http}",
                log=str(slot.start.log),
                trace=str(slot.start.trace),
                restarts=slot.restarts,
            )
            for slot in self.slots
        )
