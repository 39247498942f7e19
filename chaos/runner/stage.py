"""A cluster made for one run, with its clients, and with all who watch it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chaos.auditor import Auditor
from chaos.cluster.interface import Condition
from chaos.runner.sights import Sights
from chaos.runner.signals import Signals
from chaos.runner.steady import SteadyState
from chaos.targets import Cast
from chaos.workloads.catalogue import workload
from lockd.etcd.gateway import Gateway
from lockd.etcd.model import WatchBatch, WatchTarget
from lockd.etcd.witness import Witness
from lockd.ports import LockName

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Sequence

    from chaos.backend.interface import Backend, Standing
    from chaos.cluster.health import Health
    from chaos.cluster.interface import Cluster, Target
    from chaos.cluster.plan import Plan
    from chaos.faults.place import Place
    from chaos.roles import Role
    from chaos.scenario.model import Scenario
    from chaos.timing import Timing
    from chaos.workloads.interface import Workload
    from component.clock import Clock
    from component.progress import Progress

LOCK: Final = ("kube-system", "kube-scheduler")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What a trial is given.

    Attributes:
        standing: The cluster as its backend made it.
        place: Where its faults are applied.
        stop: Gives up at once.
    """

    plan: Plan
    standing: Standing
    place: Place
    auditor: Auditor
    signals: Signals
    sights: Sights
    workload: Workload
    steady: SteadyState
    timing: Timing
    clock: Clock
    stop: threading.Event

    @property
    def cluster(self) -> Cluster:
        return self.place.cluster

    def cast(self, role: Role) -> Cast:
        """Who is who at this moment, as far as the role needs it. Nobody who has ended; who leads is by the watch."""
        if role.of_etcd:
            leader = self.cluster.etcd_leader() if role.kind not in ("etcd", "etcd-majority") else None
            return Cast(members=self._living(self.cluster.etcd_members()), etcd_leader=leader)
        if role.kind == "lockd":
            return Cast(daemons=self._living(self.cluster.daemons()))
        if role.kind.startswith("lock-"):
            return Cast(contenders=self.workload.contenders(), holders=self.workload.holders())
        replicas = self._living(self.cluster.replicas())
        leader = next((each for each in replicas if each.identity == self.sights.leader), None)
        return Cast(replicas=replicas, leader=leader, old_leader=self.sights.old_leader)

    def _living(self, targets: Sequence[Target]) -> tuple[Target, ...]:
        return tuple(each for each in targets if self.cluster.condition(each) is not Condition.GONE)


@contextlib.contextmanager
def stage(
    scenario: Scenario,
    backend: Backend,
    plan: Plan,
    timing: Timing,
    *,
    clock: Clock,
    stop: threading.Event,
    told: Progress,
) -> Iterator[Stage]:
    """Have a cluster made, with its clients; all of it ends with the block.

    Raises:
        NotStarted, TooSlow, Interrupted, StoreError: It did not come up.
    """
    what = f"start {plan.members} etcd members and {plan.replicas} replicas"

    def healthy(health: Health) -> None:
        told(what, health.parts, health.of)

    with contextlib.ExitStack() as undo:
        standing = undo.enter_context(backend.standing(plan, clock=clock, stop=stop, progress=healthy))
        lock = LockName(plan.prefix, *LOCK)

        def connect(purpose: str) -> Gateway:
            gateway = Gateway(standing.connection, purpose=purpose, witness=Witness(), clock=clock)
            undo.callback(gateway.close)
            return gateway

        gateway = connect("chaos")
        auditor = undo.enter_context(Auditor(gateway, plan.prefix, clock=clock))
        signals, place = Signals(), undo.enter_context(standing.place(gateway, lock))
        sights = Sights("/".join(LOCK), signals)
        _follow(connect("chaos-sights"), plan.prefix, sights)
        clients = workload(scenario.workload, connect("chaos-workload"), plan, timing, clock=clock)
        if standing.stays:
            clients.clear()  # an earlier run was killed, perhaps
            undo.callback(clients.clear)
        undo.callback(clients.stop)
        clients.start()
        yield Stage(
            plan=plan,
            standing=standing,
            place=place,
            auditor=auditor,
            signals=signals,
            sights=sights,
            workload=clients,
            steady=SteadyState(place.cluster, gateway, clients, clock=clock),
            timing=timing,
            clock=clock,
            stop=stop,
        )


def _follow(gateway: Gateway, prefix: str, sights: Sights) -> None:
    """Have the sights told of every change, as long as the gateway is open."""

    def sink(item: object) -> None:
        if isinstance(item, WatchBatch):
            for event in item.events:
                sights.saw(event.key[len(prefix) + 1 :], event)

    gateway.watch([WatchTarget(f"{prefix}/", prefix=True, start_revision=1)], sink)
