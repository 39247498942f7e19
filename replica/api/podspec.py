"""A pod's specification: one object for all pods made from the same template."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from replica.api.affinity import Affinity, SpreadConstraint
from replica.api.resources import (
    CPU,
    DEFAULT_CPU,
    DEFAULT_MEMORY,
    HUGE_PAGES,
    MEMORY,
    PODS,
    Amounts,
    frozen,
    parse_amounts,
    pod_total,
)
from replica.api.taints import Toleration
from replica.api.wire import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEFAULT_SCHEDULER: Final = "default-scheduler"
PREEMPT_LOWER: Final = "PreemptLowerPriority"
PREEMPT_NEVER: Final = "Never"
DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"

HARMLESS_VOLUMES: Final = frozenset(
    {"hostPath", "emptyDir", "configMap", "secret", "projected", "downwardAPI", "image", "nfs", "gitRepo"}
)
"""Volume sources that every node can serve as well as any other."""

_SHARED_LIMIT: Final = 4096
"""Longest specification, in bytes, kept to recognise the next one made from the same template."""


class HostPort(NamedTuple):
    """A port that a pod takes on its node. `ip` is `0.0.0.0` for every address."""

    protocol: str
    ip: str
    port: int


class PodSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, cache_hash=True):
    """What scheduling reads of a pod's `spec`, but for the node. Equal specifications are the same object as a rule.

    Attributes:
        requests: What it needs (overhead, init containers and defaults from limits counted in) and `pods`: 1.
        limits: What it may take at most, summed like `requests`; overhead is added to what has a limit.
        scoring_cpu: Millicores that scoring counts: containers without a request count 100m.
        scoring_memory: Bytes that scoring counts: containers without a request count 200Mi.
        node_selector: (label, value) pairs, sorted.
        images: Of its containers, in their order, init containers first.
        priority: None when the manifest gives none: then `priority_class` or a default decides.
        preemption: `PreemptLowerPriority` or `Never`; "" when the manifest says nothing: then its class does.
        gates: Scheduling gates that keep it from being scheduled.
        unsupported: What it needs that this scheduler can't give, one line each; such a pod is refused.
    """

    requests: Amounts = ()
    limits: Amounts = ()
    scoring_cpu: int = 0
    scoring_memory: int = 0
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    images: tuple[str, ...] = ()
    priority: int | None = None
    priority_class: str = ""
    preemption: str = ""
    scheduler: str = DEFAULT_SCHEDULER
    gates: tuple[str, ...] = ()
    grace_period: float = 30.0
    unsupported: tuple[str, ...] = ()


class _Resources(msgspec.Struct, gc=False):
    requests: dict[str, str | int | float] = {}
    limits: dict[str, str | int | float] = {}

    def amounts(self) -> dict[str, int]:
        """A limit without a request is a request of as much."""
        return parse_amounts({**self.limits, **self.requests})


class _Port(msgspec.Struct, gc=False, rename="camel"):
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"


class _Container(msgspec.Struct, gc=False, rename="camel"):
    image: str = ""
    resources: _Resources = msgspec.field(default_factory=_Resources)
    ports: list[_Port] = []
    restart_policy: str = ""

    @property
    def restartable(self) -> bool:
        return self.restart_policy == "Always"


class _Gate(msgspec.Struct, gc=False):
    name: str


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    containers: list[_Container] = []
    init_containers: list[_Container] = []
    overhead: dict[str, str | int | float] = {}
    resources: _Resources = msgspec.field(default_factory=_Resources)
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[SpreadConstraint, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    scheduler_name: str = ""
    scheduling_gates: tuple[_Gate, ...] = ()
    termination_grace_period_seconds: float = 30.0
    host_network: bool = False
    volumes: list[dict[str, msgspec.Raw]] = []
    resource_claims: list[dict[str, msgspec.Raw]] = []


_READER: Final = Reader(_Spec)


def spec_from(raw: bytes) -> PodSpec:
    """The specification in a JSON object; the same object for the same bytes, as a rule.

    Raises:
        msgspec.MsgspecError: Not JSON, or a field of another type.
        QuantityError: A resource's amount is no quantity.
    """
    return _shared(raw) if len(raw) <= _SHARED_LIMIT else _build(raw)


@lru_cache(maxsize=4096)
def _canonical(spec: PodSpec) -> PodSpec:
    return spec


def _build(raw: bytes) -> PodSpec:
    wire = _READER.read(raw)
    containers = [each.resources.amounts() for each in wire.containers]
    init = [(each.resources.amounts(), each.restartable) for each in wire.init_containers]
    overhead = parse_amounts(wire.overhead)
    at_pod_level = {
        resource: count
        for resource, count in wire.resources.amounts().items()
        if resource in {CPU, MEMORY} or resource.startswith(HUGE_PAGES)
    }
    total = _total(containers, init, overhead, at_pod_level)
    scoring = _total(
        [_scored(each) for each in containers], [(_scored(each), keep) for each, keep in init], overhead, at_pod_level
    )
    return _canonical(
        PodSpec(
            requests=frozen({**total, PODS: 1}),
            limits=_limits(wire, overhead),
            scoring_cpu=scoring.get(CPU, 0),
            scoring_memory=scoring.get(MEMORY, 0),
            node_selector=tuple(sorted(wire.node_selector.items())),
            affinity=wire.affinity,
            tolerations=wire.tolerations,
            spread=wire.topology_spread_constraints,
            host_ports=_host_ports(wire),
            images=tuple(each.image for each in (*wire.init_containers, *wire.containers)),
            priority=wire.priority,
            priority_class=wire.priority_class_name,
            preemption=wire.preemption_policy,
            scheduler=wire.scheduler_name or DEFAULT_SCHEDULER,
            gates=tuple(gate.name for gate in wire.scheduling_gates),
            grace_period=wire.termination_grace_period_seconds,
            unsupported=_unsupported(wire),
        )
    )


_shared: Final[Callable[[bytes], PodSpec]] = lru_cache(maxsize=1024)(_build)


def _total(
    containers: list[dict[str, int]],
    init: list[tuple[dict[str, int], bool]],
    overhead: Mapping[str, int],
    at_pod_level: Mapping[str, int],
) -> dict[str, int]:
    """What a pod says for itself as a whole takes the place of what its containers say."""
    total = pod_total(containers, init, {})
    total.update(at_pod_level)
    for resource, count in overhead.items():
        total[resource] = total.get(resource, 0) + count
    return total


def _limits(wire: _Spec, overhead: Mapping[str, int]) -> Amounts:
    total = _total(
        [parse_amounts(each.resources.limits) for each in wire.containers],
        [(parse_amounts(each.resources.limits), each.restartable) for each in wire.init_containers],
        {},
        parse_amounts(wire.resources.limits),
    )
    return frozen({resource: count + overhead.get(resource, 0) for resource, count in total.items() if count})


def _scored(requests: dict[str, int]) -> dict[str, int]:
    return {CPU: requests.get(CPU, DEFAULT_CPU), MEMORY: requests.get(MEMORY, DEFAULT_MEMORY)}


def _host_ports(wire: _Spec) -> tuple[HostPort, ...]:
    """Ports on the node. With the host's network each port is one; init containers that end give theirs back."""
    running = (*(each for each in wire.init_containers if each.restartable), *wire.containers)
    found = [
        HostPort(port.protocol or "TCP", port.host_ip or "0.0.0.0", number)
        for each in running
        for port in each.ports
        if (number := port.host_port or (port.container_port if wire.host_network else 0))
    ]
    return tuple(found)


def _unsupported(wire: _Spec) -> tuple[str, ...]:
    found = []
    for volume in wire.volumes:
        name = msgspec.json.decode(volume["name"], type=str) if "name" in volume else ""
        found += [
            f"volume {name} is a {source}: volumes that a node must provide are not supported"
            for source in volume
            if source != "name" and source not in HARMLESS_VOLUMES
        ]
    if wire.resource_claims:
        found.append("resource claims: dynamic resource allocation is not supported")
    return tuple(found)
