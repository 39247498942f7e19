"""How NodeResourcesFit turns what would be requested of a resource into a score: for columns, and for single rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from replica.framework.interface import HIGHEST_SCORE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replica.cache.arrays import Amounts, Flags, Shares
    from replica.plugins.arguments import ScoringStrategy, UtilizationShapePoint

SHAPE_UNIT: Final = 10
"""What a score of 1 in a shape stands for."""


def percent(part: Shares | Amounts, whole: Shares | Amounts) -> Shares:
    """The whole percents that `part` is of `whole`.

    Args:
        part: 0 to `whole`; a column of its own, which is overwritten.
        whole: 1 or more; in floating point only up to `replica.cache.amount_column.EXACT`.
    """
    part *= 100
    if whole.dtype == np.float64:
        shares: Shares = np.divide(part, whole)
        return np.floor(shares, out=shares)
    return (part // whole).astype(np.float64)


class Strategy(Protocol):
    """Scores of single resources, and their weighted mean. Columns are whole numbers in floating point."""

    def column(self, whole: Shares | Amounts, requested: Amounts) -> Shares:
        """0 to HIGHEST_SCORE by row. `whole` is 1 or more."""
        ...

    def row(self, allocatable: int, requested: int) -> int:
        """The same for one node."""
        ...

    def counts(self, scores: Shares, there: Flags | None) -> Flags | None:
        """bool[rows]: where a resource counts in the mean; None when it does everywhere.

        Args:
            there: Which rows have it; None for all.
        """
        ...

    def mean(self, total: Shares, weights: Shares | int) -> Amounts:
        """Of sums of weighted scores; `weights` is 1 or more."""
        ...

    def mean_row(self, scores: Iterable[tuple[int, int]]) -> int:
        """Of one node's (score, weight) pairs, those of resources that the node has."""
        ...


class _Shares:
    """What both strategies by share have in common: a node is judged by the resources that it has."""

    def counts(self, _scores: Shares, there: Flags | None) -> Flags | None:
        return there

    def mean(self, total: Shares, weights: Shares | int) -> Amounts:
        return (total / weights).astype(np.int64)

    def mean_row(self, scores: Iterable[tuple[int, int]]) -> int:
        total = weights = 0
        for score, weight in scores:
            total += score * weight
            weights += weight
        return total // weights if weights else 0


class LeastAllocated(_Shares):
    """The share that would be left; 0 when more would be requested than there is."""

    def column(self, whole: Shares | Amounts, requested: Amounts) -> Shares:
        left = whole - requested
        return percent(np.maximum(left, 0, out=left), whole)

    def row(self, allocatable: int, requested: int) -> int:
        return max(allocatable - requested, 0) * HIGHEST_SCORE // allocatable


class MostAllocated(_Shares):
    """The share that would be used; more than all of it counts as all."""

    def column(self, whole: Shares | Amounts, requested: Amounts) -> Shares:
        return percent(np.minimum(requested, whole), whole)

    def row(self, allocatable: int, requested: int) -> int:
        return min(requested, allocatable) * HIGHEST_SCORE // allocatable


class RequestedToCapacityRatio:
    """A curve over the utilization, at most all of it. Resources to which it gives nothing don't count."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        points = [(point.utilization, point.score * SHAPE_UNIT) for point in shape]
        self._scores = tuple(_on_line(points, utilization) for utilization in range(101))
        self._table: Shares = np.array(self._scores, np.float64)

    def column(self, whole: Shares | Amounts, requested: Amounts) -> Shares:
        used = percent(np.minimum(requested, whole), whole).astype(np.intp)
        scores: Shares = self._table.take(used)
        return scores

    def row(self, allocatable: int, requested: int) -> int:
        return self._scores[min(requested, allocatable) * 100 // allocatable]

    def counts(self, scores: Shares, there: Flags | None) -> Flags | None:
        some: Flags = scores > 0
        return some if there is None else some & there

    def mean(self, total: Shares, weights: Shares | int) -> Amounts:
        """Rounded, half up."""
        return (total / weights + 0.5).astype(np.int64)

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
