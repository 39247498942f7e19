"""The steady state: what must hold of a cluster before it is hurt, and again once it was healed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chaos.cluster.health import is_answered, status_of
from chaos.cluster.interface import Condition
from chaos.errors import Interrupted, TooSlow
from lockd.errors import StoreError
from lockd.etcd.maintenance import Maintenance

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from chaos.cluster.interface import Cluster, Target
    from chaos.workloads.interface import Workload
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway

STEP: Final = 0.1
"""Seconds between two looks."""

TIMEOUT: Final = 2.0
"""Seconds that one member may take to answer."""


class NotSteady(TooSlow):
    """The steady state did not come in time.

    Attributes:
        problems: What did not hold at the end, one line each.
    """

    def __init__(self, message: str, problems: tuple[str, ...]) -> None:
        super().__init__(message)
        self.problems = problems


class SteadyState:
    """Looks at one cluster and its clients. For one thread."""

    def __init__(self, cluster: Cluster, gateway: Gateway, workload: Workload, *, clock: Clock) -> None:
        self._cluster = cluster
        self._gateway = gateway
        self._workload = workload
        self._clock = clock
        self._looks: dict[str, Callable[[float], str | None]] = {
            "etcd-healthy": self._etcd,
            "leader": self._leader,
            "replicas-ready": self._replicas,
            "daemons-serving": self._daemons,
            "workload-served": self._served,
        }

    def problems(self, probes: Sequence[str], asked_before: float) -> tuple[str, ...]:
        """What does not hold at this moment, one line each.

        Args:
            asked_before: What clients asked for before that moment must be answered.
        """
        found = []
        for probe in probes:
            try:
                problem = self._looks[probe](asked_before)
            except StoreError as error:
                problem = f"etcd doesn't answer: {error}"
            if problem is not None:
                found.append(f"{probe}: {problem}")
        return tuple(found)

    def wait(self, probes: Sequence[str], *, within: float, stop: threading.Event) -> float:
        """Wait until all of it holds at once; what clients ask for from now on need not be answered by then.

        Returns:
            Seconds that it took.

        Raises:
            NotSteady: It didn't in so many seconds.
            Interrupted: `stop` was set.
            WorkloadFailed: The clients ask no more.
        """
        began = self._clock.now()
        while True:
            now = self._clock.now()
            problems = self.problems(probes, began)
            if not problems:
                return now - began
            if now >= began + within:
                raise NotSteady(f"no steady state within {within:g} s: {'; '.join(problems)}", problems)
            if self._clock.wait(stop, STEP):
                raise Interrupted("stopped by a signal; the cluster is taken down")

    def _etcd(self, _: float) -> str | None:
        leaders = set()
        for member in self._cluster.etcd_members():
            if not member.address:
                return f"{member.name}: it is nowhere to be reached"
            try:
                status = self._gateway.status(member.address, timeout=TIMEOUT)
            except StoreError as error:
                return f"{member.name}: {error}"
            if status.errors:
                return f"{member.name}: {'; '.join(status.errors)}"
            leaders.add(status.leader)
        if len(leaders) != 1 or 0 in leaders:
            return "the members don't agree on a leader"
        alarms = Maintenance(self._gateway).alarms(timeout=TIMEOUT)
        return f"alarms: {', '.join(alarm.kind for alarm in alarms)}" if alarms else None

    def _leader(self, _: float) -> str | None:
        leader = self._cluster.leader()
        if leader is None:
            return "nobody leads"
        code = status_of(leader.address, "/leader")
        return None if code == 200 else f"{leader.name} holds the lease, and /leader says {code or 'nothing'}"

    def _replicas(self, _: float) -> str | None:
        late = [each.name for each in self._cluster.replicas() if not self._ready(each)]
        return f"not ready: {', '.join(late)}" if late else None

    def _daemons(self, _: float) -> str | None:
        late = [each.name for each in self._cluster.daemons() if not self._serving(each)]
        return f"not serving: {', '.join(late)}" if late else None

    def _served(self, asked_before: float) -> str | None:
        return self._workload.problem(asked_before)

    def _ready(self, replica: Target) -> bool:
        """Is it this very process that is ready?"""
        return self._is_there(replica) and status_of(replica.address, "/readyz") == 200

    def _serving(self, daemon: Target) -> bool:
        return self._is_there(daemon) and is_answered(daemon.address)

    def _is_there(self, target: Target) -> bool:
        return self._cluster.condition(target) is not Condition.GONE
