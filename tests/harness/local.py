"""A local cluster under test: real members, real replicas, an auditing watch, and whoever creates objects."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from chaos import workload
from chaos.auditor import Auditor
from chaos.checks import judge
from chaos.cluster import launch
from chaos.cluster.local import LocalCluster
from chaos.cluster.plan import FAST, Plan
from chaos.ledger import Ledger
from chaos.record import Record
from chaos.report import Report
from component.clock import SystemClock
from lockd.etcd.connection import Connection
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from replica.api.manifests import parse_manifests
from tests.harness.wait import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chaos.cluster.interface import Target
    from replica.api.drafts import Draft

CLOCK = SystemClock()
NEVER = threading.Event()


class Local:
    """A running cluster."""

    def __init__(self, plan: Plan, gateway: Gateway, auditor: Auditor) -> None:
        self.plan = plan
        self.gateway = gateway
        self.auditor = auditor
        self.cluster = LocalCluster(plan.folder, gateway, clock=CLOCK)

    def leader(self, *, unlike: str = "", within: float = 60.0) -> Target:
        """The leader, once there is one of another identity than `unlike`."""

        def look() -> Target | None:
            found = self.cluster.leader()
            return found if found is not None and found.identity != unlike else None

        return eventually(look, within=within, what="a leader")

    def create(self, drafts: tuple[Draft, ...]) -> None:
        workload.create(self.gateway, self.plan.prefix, drafts, clock=CLOCK, stop=NEVER)

    def bound(self) -> int:
        return sum(map(bool, workload.placement(self.gateway, self.plan.prefix).values()))

    def ledger(self) -> Ledger:
        return Ledger.of(self.auditor.history(within=60.0))

    def report(self) -> dict[str, Any]:
        """The audit's document, of the settled cluster."""
        ledger = self.ledger()
        return Report.of(ledger, judge(Record(ledger=ledger))).document()


@contextmanager
def local(
    folder: Path, *, replicas: int = 3, flags: tuple[str, ...] = FAST, restart: bool = True, **further: Any
) -> Iterator[Local]:
    """A cluster of three members that is taken down in the end. `further` goes into its plan."""
    plan = Plan(folder=folder, replicas=replicas, flags=flags, restart=restart, **further)
    supervisor = launch.launch(plan, leashed=True)
    try:
        state = launch.await_health(plan, supervisor, NEVER, progress=lambda _: None, clock=CLOCK)
        gateway = Gateway(Connection(endpoints=state.endpoints), purpose="test", witness=Witness())
        try:
            with Auditor(gateway, plan.prefix, clock=CLOCK) as auditor:
                yield Local(plan, gateway, auditor)
        finally:
            gateway.close()
    finally:
        supervisor.end(clock=CLOCK)


def nodes(
    count: int, *, cpu: str = "32", memory: str = "128Gi", pods: str = "110", first: int = 0
) -> tuple[Draft, ...]:
    """Nodes `node-<first>` and on."""
    return _drafts(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{number}"},
            "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": pods}},
        }
        for number in range(first, first + count)
    )


def pods(first: int, count: int, *, cpu: str = "100m", memory: str = "128Mi") -> tuple[Draft, ...]:
    """Pods `pod-<first>` and on."""
    return _drafts(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{number}"},
            "spec": {
                "containers": [
                    {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
                ]
            },
        }
        for number in range(first, first + count)
    )


def _drafts(objects: Iterator[dict[str, Any]]) -> tuple[Draft, ...]:
    content = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    return parse_manifests(msgspec.json.encode(content), "test")
