"""How NodeResourcesFit turns what would be requested of a resource into a score: for columns, and for single rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from replica.framework.interface import HIGHEST_SCORE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replica.cache.nodes import Amounts, Flags
    from replica.plugins.arguments import ScoringStrategy, UtilizationShapePoint

EXACT: Final = 1 << 46
"""Up to this amount (64 TiB) a percentage is the same in floating point as in integers, and three times as fast."""

SHAPE_UNIT: Final = 10
"""What a score of 1 in a shape stands for."""


def percent(part: Amounts, whole: Amounts) -> Amounts:
    """The whole percents that `part` is of `whole`.

    Args:
        part: 0 to `whole`.
        whole: 1 or more.
    """
    if whole.max(initial=0) <= EXACT:
        # A quotient is below the next percent by 1/whole at least, which is more than what rounding can add.
        return (part * 100.0 / whole).astype(np.int64)
    return part * 100 // whole


class Strategy(Protocol):
    """Scores of single resources, and their weighted mean."""

    def column(self, allocatable: Amounts, requested: Amounts) -> Amounts:
        """0 to HIGHEST_SCORE by row. `allocatable` is 1 or more."""
        ...

    def row(self, allocatable: int, requested: int) -> int:
        """The same for one node."""
        ...

    def counts(self, scores: Amounts, allocatable: Amounts) -> Flags | None:
        """bool[rows]: where a resource counts in the mean; None when it does everywhere."""
        ...

    def mean(self, total: Amounts, weights: Amounts | int) -> Amounts:
        """Of sums of weighted scores; `weights` is 1 or more."""
        ...

    def mean_row(self, scores: Iterable[tuple[int, int]]) -> int:
        """Of one node's (score, weight) pairs, those of resources that the node has."""
        ...


class _Shares:
    """What both strategies by share have in common: a node is judged by the resources that it has."""

    def counts(self, _scores: Amounts, allocatable: Amounts) -> Flags | None:
        return None if allocatable.min(initial=1) > 0 else allocatable > 0

    def mean(self, total: Amounts, weights: Amounts | int) -> Amounts:
        return total // weights

    def mean_row(self, scores: Iterable[tuple[int, int]]) -> int:
        total = weights = 0
        for score, weight in scores:
            total += score * weight
            weights += weight
        return total // weights if weights else 0


class LeastAllocated(_Shares):
    """The share that would be left; 0 when more would be requested than there is."""

    def column(self, allocatable: Amounts, requested: Amounts) -> Amounts:
        return percent(np.maximum(allocatable - requested, 0), allocatable)

    def row(self, allocatable: int, requested: int) -> int:
        return max(allocatable - requested, 0) * HIGHEST_SCORE // allocatable


class MostAllocated(_Shares):
    """The share that would be used; more than all of it counts as all."""

    def column(self, allocatable: Amounts, requested: Amounts) -> Amounts:
        return percent(np.minimum(requested, allocatable), allocatable)

    def row(self, allocatable: int, requested: int) -> int:
        return min(requested, allocatable) * HIGHEST_SCORE // allocatable


class RequestedToCapacityRatio:
    """A curve over the utilization, at most all of it. Resources to which it gives nothing don't count."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        points = [(point.utilization, point.score * SHAPE_UNIT) for point in shape]
        self._scores = tuple(_on_line(points, utilization) for utilization in range(101))
        self._table = np.array(self._scores, np.int64)

    def column(self, allocatable: Amounts, requested: Amounts) -> Amounts:
        return self._table.take(percent(np.minimum(requested, allocatable), allocatable))

    def row(self, allocatable: int, requested: int) -> int:
        return self._scores[min(requested, allocatable) * 100 // allocatable]

    def counts(self, scores: Amounts, allocatable: Amounts) -> Flags | None:
        return (scores > 0) & (allocatable > 0)

    def mean(self, total: Amounts, weights: Amounts | int) -> Amounts:
        """Rounded, half up."""
        return (2 * total + weights) // (2 * weights)

    def mean_row(self, scores: Iterable[tuple[int, int]]) -> int:
        total = weights = 0
        for score, weight in scores:
            if score > 0:
                total += score * weight
                weights += weight
        return (2 * total + weights) // (2 * weights) if weights else 0


def _on_line(points: Sequence[tuple[int, int]], utilization: int) -> int:
    """The score of a broken line, level beyond its ends; steps are cut off towards the point before."""
    before: tuple[int, int] | None = None
    for at, score in points:
        if utilization <= at:
            if before is None:
                return score
            rise = (score - before[1]) * (utilization - before[0])
            steps = abs(rise) // (at - before[0])
            return before[1] + (steps if rise >= 0 else -steps)
        before = (at, score)
    return points[-1][1]


def strategy_of(said: ScoringStrategy) -> Strategy:
    """The strategy that the arguments name."""
    match said.type:
        case "MostAllocated":
            return MostAllocated()
        case "RequestedToCapacityRatio" if said.requested_to_capacity_ratio is not None:
            return RequestedToCapacityRatio(said.requested_to_capacity_ratio.shape)
    return LeastAllocated()
