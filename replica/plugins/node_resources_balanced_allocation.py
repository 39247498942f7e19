"""NodeResourcesBalancedAllocation: prefers nodes whose resources would be used to like shares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from replica.cache.nodes import CPU, EPHEMERAL, MEMORY
from replica.cache.occupancy import demand_of
from replica.framework.interface import HIGHEST_SCORE
from replica.framework.status import SKIP, SUCCESS
from replica.plugins.by_demand import ByDemand

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from replica.api.pods import Pod
    from replica.cache.arrays import Amounts, Flags, Shares
    from replica.cache.nodes import Nodes
    from replica.cache.occupancy import Demand
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle
    from replica.framework.status import Status
    from replica.plugins.arguments import NodeResourcesBalancedAllocationArgs

NAME = "NodeResourcesBalancedAllocation"


class NodeResourcesBalancedAllocation:
    """PreScore and Score: 100 less the standard deviation of the shares, in percent.

    Real requests count, without defaults; a pod that requests none of the resources isn't scored at all.
    """

    name = NAME
    signs_spec = True

    def __init__(self, args: NodeResourcesBalancedAllocationArgs) -> None:
        self._resources = tuple(resource.name for resource in args.resources)
        self._counted = ByDemand(self._lanes)

    def pre_score(self, _state: CycleState, pod: Pod, _nodes: Nodes, _feasible: Flags) -> Status:
        demand = demand_of(pod.spec)
        return SUCCESS if any(_requested(resource, demand) for resource in self._resources) else SKIP

    def score(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Amounts:
        found = list(self._columns(demand_of(pod.spec), nodes))
        if len(found) < 2:  # a single share deviates from nothing
            return np.full(nodes.size, HIGHEST_SCORE, np.int64)
        if len(found) == 2:
            (one, here), (other, there) = found
            deviation = np.subtract(one, other, out=one)
            np.abs(deviation, out=deviation)
            deviation *= 0.5
            if here is not None or there is not None:
                deviation[_missing(here) | _missing(there)] = 0.0
        else:
            deviation = _deviation(found, nodes.size)
        balance = np.subtract(1, deviation, out=deviation)
        balance *= HIGHEST_SCORE
        return balance.astype(np.int64)

    def score_row(self, _state: CycleState, pod: Pod, nodes: Nodes, row: int) -> int:
        shares, whole, requested = [], nodes.allocatable.item, nodes.requested.item
        for lane, more in self._counted.of(demand_of(pod.spec), nodes.lanes):
            if allocatable := whole(lane, row):
                # Both as floating point, as in the column: a quotient of Python's integers may be rounded otherwise.
                share = float(requested(lane, row) + more) / float(allocatable)
                shares.append(min(share, 1.0))
        deviation = 0.0
        if len(shares) == 2:
            deviation = abs(shares[0] - shares[1]) / 2
        elif len(shares) > 2:
            mean = _sum(shares) / len(shares)
            deviation = math.sqrt(_sum([(share - mean) * (share - mean) for share in shares]) / len(shares))
        return int((1 - deviation) * HIGHEST_SCORE)

    def signature(self, pod: Pod) -> Hashable:
        return demand_of(pod.spec)

    def _lanes(self, demand: Demand, lanes: Mapping[str, int]) -> Iterator[tuple[int, int]]:
        """(lane, what the pod adds) of the resources that count: a device that isn't requested doesn't."""
        for resource in self._resources:
            lane, more = lanes.get(resource), _requested(resource, demand)
            if lane is not None and (more or lane in {CPU, MEMORY, EPHEMERAL}):
                yield lane, more

    def _columns(self, demand: Demand, nodes: Nodes) -> Iterator[tuple[Shares, Flags | None]]:
        """The share of each resource, and where nodes have it at all (None: everywhere)."""
        for lane, more in self._counted.of(demand, nodes.lanes):
            amount, allocatable = nodes.facts.amount(lane), nodes.allocatable[lane]
            share: Shares = (nodes.requested[lane] + more) / nodes.cut(amount.whole)
            np.minimum(share, 1.0, out=share)
            yield share, None if amount.everywhere else allocatable > 0


def make(args: NodeResourcesBalancedAllocationArgs, _handle: Handle) -> NodeResourcesBalancedAllocation:
    return NodeResourcesBalancedAllocation(args)


def _requested(resource: str, demand: Demand) -> int:
    match resource:
        case "cpu":
            return demand.cpu
        case "memory":
            return demand.memory
        case "ephemeral-storage":
            return demand.ephemeral
    return dict(demand.extended).get(resource, 0)


def _missing(there: Flags | None) -> Flags | np.bool_:
    return np.False_ if there is None else ~there


def _sum(numbers: list[float]) -> float:
    """One after the other, as the column does: `sum` rounds less from Python 3.12 on."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def _deviation(found: list[tuple[Shares, Flags | None]], size: int) -> Shares:
    """The standard deviation by row, of the shares that the row has; of two it is half their distance."""
    total, count = np.zeros(size), np.zeros(size)
    for share, there in found:
        total += share if there is None else np.where(there, share, 0.0)
        count += 1.0 if there is None else there
    mean = total / np.maximum(count, 1.0)
    squares = np.zeros(size)
    high, low = np.zeros(size), np.ones(size)
    for share, there in found:
        square = (share - mean) * (share - mean)
        squares += square if there is None else np.where(there, square, 0.0)
        high = np.maximum(high, share if there is None else np.where(there, share, 0.0))
        low = np.minimum(low, share if there is None else np.where(there, share, 1.0))
    deviation = np.sqrt(squares / np.maximum(count, 1.0))
    found_two = np.where(count == 2, np.abs(high - low) / 2, deviation)
    return np.where(count < 2, 0.0, found_two)
