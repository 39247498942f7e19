"""The demonstration: a real cluster, two hand-offs, and what history says of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from chaos import spans, workload
from chaos.auditor import Auditor
from chaos.checks import judge
from chaos.cluster import launch
from chaos.cluster.local import LocalCluster
from chaos.effect import Effect
from chaos.errors import Interrupted, TooSlow
from chaos.handoff import FAULT, handoffs
from chaos.ledger import Ledger
from chaos.measure.phases import Succession, moments, successions
from chaos.record import Action, Record
from chaos.report import Report
from component import tracing
from component.clock import SystemClock
from lockd.errors import LockdError, StoreError
from lockd.etcd.connection import Connection
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from chaos.cluster.health import Health
    from chaos.cluster.interface import Target
    from chaos.cluster.plan import Plan
    from chaos.handoff import Handoff
    from component.clock import Clock
    from component.progress import Progress

T = TypeVar("T")

STEP: Final = 0.02
"""Seconds between two looks at the cluster."""

PATIENCE: Final = 60.0
"""Seconds that one part may take: far more than a lease, with the defaults too."""

FAULTS: Final = (("SIGTERM", "api.yaml"), ("kill -9", "batch.yaml"))
"""What is done to the leader, and the pods that come meanwhile."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that the demonstration has to show.

    Attributes:
        observed: The hand-offs as the auditing watch saw them.
        handoffs: The same as the replicas' traces tell them.
        placement: The node of each pod.
        names: Replicas' names, by identity.
        moments: When terms began and ended, by revision: seconds since the first one began.
    """

    report: Report
    observed: tuple[Succession, ...]
    handoffs: tuple[Handoff, ...]
    placement: dict[str, str]
    names: dict[str, str]
    moments: dict[int, float]


def run(plan: Plan, progress: Progress, stop: threading.Event, *, keep: bool, clock: Clock | None = None) -> Outcome:
    """Make a cluster, hand the lease over twice, judge it, take it down.

    Args:
        stop: Gives up at once.
        keep: Leave the cluster running.

    Raises:
        Interrupted: `stop` was set. The cluster is down, as it is after the others.
        LockdError: A part failed, or took too long.
    """
    clock = clock or SystemClock()
    supervisor = launch.launch(plan, leashed=not keep)
    traces: tracing.Tracing | None = None
    shown = False
    try:

        def healthy(health: Health) -> None:
            progress(f"start {plan.members} etcd members and {plan.replicas} replicas", health.parts, health.of)

        state = launch.await_health(plan, supervisor, stop, progress=healthy, clock=clock)
        # not before: a supervisor begins by moving the traces of an earlier cluster aside
        traces = tracing.setup(service="chaosctl", instance="chaosctl", trace_file=plan.traces / "chaosctl.jsonl")
        gateway = Gateway(Connection(endpoints=state.endpoints), purpose="demo", witness=Witness(), clock=clock)
        try:
            outcome = _Run(plan, gateway, progress, clock, stop).show()
        finally:
            gateway.close()
        shown = True
    except LockdError as error:
        if stop.is_set():
            raise Interrupted("stopped by a signal; the cluster is taken down") from error
        raise
    finally:
        if not (keep and shown) and supervisor.exit_code() is None:
            progress("take the cluster down", 0, 1)
            supervisor.end(clock=clock)
            progress("take the cluster down", 1, 1)
        if traces is not None:
            traces.shutdown(2.0)
    return replace(outcome, handoffs=handoffs(spans.read_folder(plan.traces)))


class _Run:
    """The parts of it that need a running cluster."""

    def __init__(self, plan: Plan, gateway: Gateway, progress: Progress, clock: Clock, stop: threading.Event) -> None:
        self._plan = plan
        self._gateway = gateway
        self._progress = progress
        self._clock = clock
        self._stop = stop
        self._cluster = LocalCluster(plan.folder, gateway, clock=clock)
        self._names: dict[str, str] = {}
        self._pods = 0

    def show(self) -> Outcome:
        with Auditor(self._gateway, self._plan.prefix, clock=self._clock) as auditor:
            self._create("nodes.yaml")
            self._create("web.yaml")
            self._bound("bind pods")
            actions = [self._hand_over(what, manifest) for what, manifest in FAULTS]
            self._progress("judge etcd's history", 0, 1)
            ledger = Ledger.of(auditor.history(within=PATIENCE))
            self._progress("judge etcd's history", 1, 1)
            record = Record(ledger=ledger, stamps=auditor.stamps(), actions=tuple(actions))
            return Outcome(
                report=Report.of(ledger, judge(Record(ledger=ledger))),
                observed=successions(record),
                handoffs=(),
                placement=workload.placement(self._gateway, self._plan.prefix),
                names=self._names,
                moments=moments(record),
            )

    def _hand_over(self, what: str, manifest: str) -> Action:
        """End the leader, create pods meanwhile, and wait until another has bound them."""
        told = f"hand-off by {what}"
        leader = self._leader(told)
        self._progress(told, 0, 1)
        hurt: Callable[[Target], None] = self._cluster.kill if what == "kill -9" else self._cluster.terminate
        effect = Effect.KILL if what == "kill -9" else Effect.STOP
        wall = self._clock.wall()
        action = Action(
            fault=what,
            effect=effect,
            target=leader.name,
            identity=leader.identity,
            at=self._clock.now(),
            wall=wall,
            heals=False,
        )
        hurt(leader)
        tracing.emit(FAULT, start=wall, end=wall, attributes={"fault": what, "target": leader.identity})
        self._create(manifest)
        self._leader(told, unlike=leader.identity)
        self._bound(told)
        return action

    def _create(self, manifest: str) -> None:
        drafts = workload.shipped(manifest)
        self._pods += sum(draft.kind.plural == "pods" for draft in drafts)
        workload.create(self._gateway, self._plan.prefix, drafts, clock=self._clock, stop=self._stop)

    def _leader(self, told: str, *, unlike: str = "") -> Target:
        """The leader, once there is one of another identity than `unlike`."""

        def look() -> Target | None:
            self._names.update({replica.identity: replica.name for replica in self._cluster.replicas()})
            leader = self._cluster.leader()
            return leader if leader is not None and leader.identity != unlike else None

        return self._await(look, f"{told}: nobody leads")

    def _bound(self, told: str) -> None:
        """Wait until all pods have nodes."""

        def look() -> bool:
            nodes = workload.placement(self._gateway, self._plan.prefix)
            done = sum(map(bool, nodes.values()))
            self._progress(told, done, self._pods)
            return done == self._pods

        self._await(look, f"{told}: not all pods are bound")

    def _await(self, look: Callable[[], T | None], what: str) -> T:
        """The first truthy result of `look`; etcd may be silent in between."""
        end = self._clock.now() + PATIENCE
        while True:
            try:
                if found := look():
                    return found
            except StoreError:
                if self._clock.now() >= end:
                    raise
            if self._clock.now() >= end:
                raise TooSlow(f"{what} after {PATIENCE:g} s; what the replicas say is in {self._plan.logs}")
            if self._clock.wait(self._stop, STEP):
                raise Interrupted("stopped by a signal")
