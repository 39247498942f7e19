"""NodeResourcesFit: a node must have what a pod requests; scores prefer nodes by how much would be left."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from replica.api.resources import PODS as PODS_NAME
from replica.api.resources import is_extended
from replica.cache.nodes import CPU, EPHEMERAL, LANES, MEMORY, PODS
from replica.cache.occupancy import demand_of
from replica.framework.interface import Refusal
from replica.framework.status import Code
from replica.plugins.by_demand import ByDemand
from replica.plugins.strategies import strategy_of
from replica.queue.hints import Action, ClusterEvent, Hint, Registration, Resource

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.cache.arrays import Shares
    from replica.cache.nodes import Amounts, Flags, Nodes
    from replica.cache.occupancy import Demand
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle
    from replica.plugins.arguments import NodeResourcesFitArgs

NAME = "NodeResourcesFit"
TOO_MANY_PODS = "Too many pods"


class NodeResourcesFit:
    """Filter and Score."""

    name = NAME
    signs_spec = True

    def __init__(self, args: NodeResourcesFitArgs) -> None:
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._resources = tuple((each.name, each.weighs) for each in args.scoring_strategy.resources)
        self._strategy = strategy_of(args.scoring_strategy)
        self._needs = lru_cache(maxsize=1024)(self._wanted)
        self._scored = ByDemand(self._terms)

    def filter(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Flags:
        fits: Flags = nodes.requested[PODS] < nodes.allocatable[PODS]
        for resource, amount in self._needs(demand_of(pod.spec)):
            lane = nodes.lanes.get(resource)
            if lane is None:
                return np.zeros(nodes.size, np.bool_)
            fits &= _room(nodes, lane) >= amount
        return fits

    def filter_row(self, _state: CycleState, pod: Pod, nodes: Nodes, row: int) -> bool:
        requested, allocatable, lanes = nodes.requested.item, nodes.allocatable.item, nodes.lanes
        if requested(PODS, row) >= allocatable(PODS, row):
            return False
        for resource, amount in self._needs(demand_of(pod.spec)):
            lane = lanes.get(resource)
            if lane is None or allocatable(lane, row) - requested(lane, row) < amount:
                return False
        return True

    def explain(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Sequence[Refusal]:
        full = nodes.requested[PODS] >= nodes.allocatable[PODS]
        never = nodes.allocatable[PODS] < 1
        found = [*_refusals(TOO_MANY_PODS, full, never)]
        for resource, amount in self._needs(demand_of(pod.spec)):
            reason = f"Insufficient {resource}"
            lane = nodes.lanes.get(resource)
            if lane is None:
                everywhere = np.ones(nodes.size, np.bool_)
                found += _refusals(reason, everywhere, everywhere)
            else:
                found += _refusals(reason, _room(nodes, lane) < amount, nodes.allocatable[lane] < amount)
        return found

    def score(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Amounts | None:
        demand, strategy = demand_of(pod.spec), self._strategy
        total: Shares | None = None
        common = 0
        partial: Shares | None = None
        for resource, weight in self._resources:
            lane = nodes.lanes.get(resource)
            if lane is None or (more := _counted(lane, resource, demand)) is None:
                continue
            already = nodes.scoring[lane] if lane in {CPU, MEMORY} else nodes.requested[lane]
            amount, allocatable = nodes.facts.amount(lane), nodes.allocatable[lane]
            whole = nodes.cut(amount.whole) if amount.exact else np.maximum(allocatable, 1)
            scores = strategy.column(whole, already + more)
            there = strategy.counts(scores, None if amount.everywhere else allocatable > 0)
            if there is None:
                common += weight
                scores *= weight
            else:
                share: Shares = there.astype(np.float64) * weight
                partial = share if partial is None else partial + share
                scores *= share
            total = scores if total is None else total + scores
        if total is None:
            return None
        return strategy.mean(total, common if partial is None else np.maximum(partial + common, 1))

    def score_row(self, _state: CycleState, pod: Pod, nodes: Nodes, row: int) -> int:
        whole, score_of, scores = nodes.allocatable.item, self._strategy.row, []
        for lane, more, weight in self._scored.of(demand_of(pod.spec), nodes.lanes):
            if allocatable := whole(lane, row):
                already = nodes.scoring.item(lane, row) if lane <= MEMORY else nodes.requested.item(lane, row)
                scores.append((score_of(allocatable, already + more), weight))
        return self._strategy.mean_row(scores)

    def signature(self, pod: Pod) -> Hashable:
        return demand_of(pod.spec)

    def events_to_register(self) -> Sequence[Registration]:
        freed = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN)
        scaled = ClusterEvent(Resource.POD, Action.UPDATE_POD_SCALE_DOWN)
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)
        return (
            Registration(NAME, freed, after_pod),
            Registration(NAME, scaled, after_pod),
            Registration(NAME, node, self.after_node),
        )

    def after_node(self, pod: Pod, old: Node | None, new: Node | None) -> Hint:
        """Queueing hint: a node helps that could take the pod with nothing on it, if it is new or has more than it had.

        More pods, that is, or more of a resource that the pod requests.
        """
        if new is None:
            return Hint.QUEUE
        has, had = dict(new.allocatable), {} if old is None else dict(old.allocatable)
        needs = (*self._needs(demand_of(pod.spec)), (PODS_NAME, 1))
        if any(amount > has.get(resource, 0) for resource, amount in needs):
            return Hint.SKIP
        more = old is None or any(has.get(resource, 0) > had.get(resource, 0) for resource, _ in needs)
        return Hint.QUEUE if more else Hint.SKIP

    def _wanted(self, demand: Demand) -> tuple[tuple[str, int], ...]:
        """(resource, amount) of what is requested and not ignored."""
        usual = ((LANES[CPU], demand.cpu), (LANES[MEMORY], demand.memory), (LANES[EPHEMERAL], demand.ephemeral))
        return (
            *(each for each in usual if each[1]),
            *(each for each in demand.extended if not self._ignores(each[0])),
        )

    def _ignores(self, resource: str) -> bool:
        """Only what is no resource of Kubernetes' own can be left out."""
        named = resource in self._ignored or resource.partition("/")[0] in self._ignored_groups
        return named and is_extended(resource)

    def _terms(self, demand: Demand, lanes: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
        """(lane, what the pod adds, weight) of each resource that counts for the pod."""
        for resource, weight in self._resources:
            lane = lanes.get(resource)
            if lane is not None and (more := _counted(lane, resource, demand)) is not None:
                yield lane, more, weight


def after_pod(pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
    """Queueing hint: what a pod on a node gives up helps one that asks for it; so does asking for less oneself."""
    if old is None:
        return Hint.QUEUE
    if new is None:
        return Hint.QUEUE if old.node or old.nominated else Hint.SKIP
    if new.uid == pod.uid:
        return Hint.QUEUE
    if not new.node:
        return Hint.SKIP
    before, after = dict(old.spec.requests), dict(new.spec.requests)
    freed = (before.get(resource, 0) > after.get(resource, 0) for resource, amount in pod.spec.requests if amount)
    return Hint.QUEUE if any(freed) else Hint.SKIP


def make(args: NodeResourcesFitArgs, _handle: Handle) -> NodeResourcesFit:
    return NodeResourcesFit(args)


def _room(nodes: Nodes, lane: int) -> Amounts:
    room: Amounts = nodes.allocatable[lane] - nodes.requested[lane]
    return room


def _refusals(reason: str, refused: Flags, never: Flags) -> Iterator[Refusal]:
    """Split by whether the node could take the pod if it were empty: then preemption may help."""
    yield Refusal(reason, refused & ~never)
    yield Refusal(reason, never, Code.UNRESOLVABLE)


def _counted(lane: int, resource: str, demand: Demand) -> int | None:
    """What a pod adds to a resource in scores; None when it isn't scored by it."""
    if lane == CPU:
        return demand.scoring_cpu
    if lane == MEMORY:
        return demand.scoring_memory
    if lane == EPHEMERAL:
        return demand.ephemeral
    return dict(demand.extended).get(resource) or None
