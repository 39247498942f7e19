"""NodeResourcesFit: a node must have what a pod requests; scores prefer nodes with much (or little) left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lockd.errors import ConfigError
from replica.cache.node_table import demand_of
from replica.cache.nodes import CPU, EPHEMERAL, LANES, MEMORY, PODS
from replica.framework.interface import HIGHEST_SCORE, Refusal
from replica.framework.status import Code
from replica.queue.hints import Action, ClusterEvent, Hint, Registration, Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.cache.node_table import Demand
    from replica.cache.nodes import Amounts, Flags, Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle
    from replica.plugins.arguments import NodeResourcesFitArgs

NAME = "NodeResourcesFit"
TOO_MANY_PODS = "Too many pods"

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"


def _least(allocatable: Amounts, requested: Amounts) -> Amounts:
    """0 to HIGHEST_SCORE: the share that would be left; 0 when more would be requested than there is."""
    left: Amounts = np.maximum(allocatable - requested, 0)
    return left * HIGHEST_SCORE // np.maximum(allocatable, 1)


def _most(allocatable: Amounts, requested: Amounts) -> Amounts:
    """0 to HIGHEST_SCORE: the share that would be used; more than all of it counts as all."""
    return np.minimum(requested, allocatable) * HIGHEST_SCORE // np.maximum(allocatable, 1)


def _least_one(allocatable: int, requested: int) -> int:
    return max(allocatable - requested, 0) * HIGHEST_SCORE // allocatable


def _most_one(allocatable: int, requested: int) -> int:
    return min(requested, allocatable) * HIGHEST_SCORE // allocatable


class _Strategy(NamedTuple):
    """One rule, for columns and for single rows."""

    column: Callable[[Amounts, Amounts], Amounts]
    row: Callable[[int, int], int]


STRATEGIES: Mapping[str, _Strategy] = {
    LEAST_ALLOCATED: _Strategy(_least, _least_one),
    MOST_ALLOCATED: _Strategy(_most, _most_one),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FitArgs:
    """`NodeResourcesFitArgs`.

    Attributes:
        ignored: Extended resources that Filter leaves out.
        ignored_groups: What comes before the `/` in names of extended resources that Filter leaves out.
        strategy: One of STRATEGIES.
        resources: (resource, weight) pairs that scores are made of.

    Raises:
        ConfigError: With every problem.
    """

    ignored: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()
    strategy: str = LEAST_ALLOCATED
    resources: tuple[tuple[str, int], ...] = (("cpu", 1), ("memory", 1))

    def __post_init__(self) -> None:
        known = ", ".join(STRATEGIES)
        rules = [
            (self.strategy in STRATEGIES, f"scoringStrategy.type {self.strategy!r} is not known: use one of {known}"),
            (bool(self.resources), "scoringStrategy.resources must not be empty"),
            *(
                (1 <= weight <= 100, f"scoringStrategy.resources: the weight of {name} must be 1 to 100, not {weight}")
                for name, weight in self.resources
            ),
        ]
        if problems := tuple(f"{NAME}: {text}" for holds, text in rules if not holds):
            raise ConfigError(problems)

    @classmethod
    def of(cls, args: NodeResourcesFitArgs) -> FitArgs:
        """From `pluginConfig[].args`."""
        strategy = args.scoring_strategy
        return cls(
            ignored=frozenset(args.ignored_resources),
            ignored_groups=frozenset(args.ignored_resource_groups),
            strategy=strategy.type,
            resources=tuple((resource.name, resource.weighs) for resource in strategy.resources),
        )


class NodeResourcesFit:
    """Filter and Score."""

    name = NAME

    def __init__(self, args: FitArgs) -> None:
        self._args = args
        self._score, self._score_one = STRATEGIES[args.strategy]

    def filter(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Flags:
        fits: Flags = nodes.requested[PODS] < nodes.allocatable[PODS]
        for _, lane, amount in self._needs(demand_of(pod.spec), nodes):
            if lane is None:
                return np.zeros(nodes.size, np.bool_)
            fits &= _room(nodes, lane) >= amount
        return fits

    def filter_row(self, _state: CycleState, pod: Pod, nodes: Nodes, row: int) -> bool:
        requested, allocatable = nodes.requested, nodes.allocatable
        if requested.item(PODS, row) >= allocatable.item(PODS, row):
            return False
        return all(
            lane is not None and allocatable.item(lane, row) - requested.item(lane, row) >= amount
            for _, lane, amount in self._needs(demand_of(pod.spec), nodes)
        )

    def explain(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Sequence[Refusal]:
        full = nodes.requested[PODS] >= nodes.allocatable[PODS]
        never = nodes.allocatable[PODS] < 1
        found = [*_refusals(TOO_MANY_PODS, full, never)]
        for resource, lane, amount in self._needs(demand_of(pod.spec), nodes):
            reason = f"Insufficient {resource}"
            if lane is None:
                everywhere = np.ones(nodes.size, np.bool_)
                found += _refusals(reason, everywhere, everywhere)
            else:
                found += _refusals(reason, _room(nodes, lane) < amount, nodes.allocatable[lane] < amount)
        return found

    def score(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Amounts:
        demand = demand_of(pod.spec)
        total = np.zeros(nodes.size, np.int64)
        weights = np.zeros(nodes.size, np.int64)
        for resource, weight in self._args.resources:
            lane = nodes.lanes.get(resource)
            requested = None if lane is None else _scored(nodes, lane, resource, demand)
            if lane is None or requested is None:
                continue
            allocatable = nodes.allocatable[lane]
            # A node without the resource is not judged by it.
            there = weight * (allocatable > 0)
            total += self._score(allocatable, requested) * there
            weights += there
        return total // np.maximum(weights, 1)

    def score_row(self, _state: CycleState, pod: Pod, nodes: Nodes, row: int) -> int:
        demand = demand_of(pod.spec)
        total = weights = 0
        for resource, weight in self._args.resources:
            lane = nodes.lanes.get(resource)
            allocatable = 0 if lane is None else nodes.allocatable.item(lane, row)
            if lane is None or not allocatable or (more := _counted(lane, resource, demand)) is None:
                continue
            already = nodes.scoring.item(lane, row) if lane in {CPU, MEMORY} else nodes.requested.item(lane, row)
            total += weight * self._score_one(allocatable, already + more)
            weights += weight
        return total // weights if weights else 0

    def signature(self, pod: Pod) -> Hashable:
        return demand_of(pod.spec)

    def events_to_register(self) -> Sequence[Registration]:
        freed = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN)
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)
        scaled = ClusterEvent(Resource.POD, Action.UPDATE_POD_SCALE_DOWN)
        return Registration(NAME, freed), Registration(NAME, node, fits_when_empty), Registration(NAME, scaled)

    def _needs(self, demand: Demand, nodes: Nodes) -> Iterator[tuple[str, int | None, int]]:
        """(resource, lane or None when nobody has it, amount) of what is requested and not ignored."""
        if demand.cpu:
            yield LANES[CPU], CPU, demand.cpu
        if demand.memory:
            yield LANES[MEMORY], MEMORY, demand.memory
        if demand.ephemeral:
            yield LANES[EPHEMERAL], EPHEMERAL, demand.ephemeral
        for resource, amount in demand.extended:
            if resource not in self._args.ignored and resource.partition("/")[0] not in self._args.ignored_groups:
                yield resource, nodes.lanes.get(resource), amount


def fits_when_empty(pod: Pod, _old: Node | None, new: Node | None) -> Hint:
    """Queueing hint: a node helps if it could take the pod with nothing else on it."""
    if new is None:
        return Hint.QUEUE
    has = dict(new.allocatable)
    return Hint.QUEUE if all(amount <= has.get(name, 0) for name, amount in pod.spec.requests) else Hint.SKIP


def make(args: NodeResourcesFitArgs, _handle: Handle) -> NodeResourcesFit:
    return NodeResourcesFit(FitArgs.of(args))


def _room(nodes: Nodes, lane: int) -> Amounts:
    room: Amounts = nodes.allocatable[lane] - nodes.requested[lane]
    return room


def _refusals(reason: str, refused: Flags, never: Flags) -> Iterator[Refusal]:
    """Split by whether the node could take the pod if it were empty: then preemption may help."""
    yield Refusal(reason, refused & ~never)
    yield Refusal(reason, never, Code.UNRESOLVABLE)


def _scored(nodes: Nodes, lane: int, resource: str, demand: Demand) -> Amounts | None:
    """What would be requested of a resource with the pod; None when it doesn't count for this pod."""
    more = _counted(lane, resource, demand)
    if more is None:
        return None
    already: Amounts = nodes.scoring[lane] if lane in {CPU, MEMORY} else nodes.requested[lane]
    return already + more


def _counted(lane: int, resource: str, demand: Demand) -> int | None:
    """What a pod adds to a resource in scores; None when it isn't scored by it."""
    if lane == CPU:
        return demand.scoring_cpu
    if lane == MEMORY:
        return demand.scoring_memory
    if lane == EPHEMERAL:
        return demand.ephemeral
    return dict(demand.extended).get(resource) or None
