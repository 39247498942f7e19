"""What many trials say together: quantiles that were really seen, and how far chance may have moved them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
LEVEL: Final = 0.95
"""Of the intervals."""

STATISTICS: Final = ("min", "p50", "p90", "p99", "max", "mean", "count")
"""What a distribution can be asked for."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Values of one quantity, one a trial, in its unit.

    Attributes:
        values: Sorted.
    """

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Distribution:
        """Of the values that there are."""
        return cls(tuple(sorted(value for value in values if value is not None)))

    def __getitem__(self, statistic: str) -> float | None:
        """One of `STATISTICS`; None without values (the count is 0 then).

        Raises:
            KeyError: It is none of them.
        """
        if statistic == "count":
            return float(len(self.values))
        if statistic not in STATISTICS:
            raise KeyError(statistic)
        if not self.values:
            return None
        match statistic:
            case "min":
                return self.values[0]
            case "max":
                return self.values[-1]
            case "mean":
                return math.fsum(self.values) / len(self.values)
        return self.values[rank(len(self.values), QUANTILES[statistic])]

    def interval(self, statistic: str) -> tuple[float, float] | None:
        """Two values seen between which the true quantile is with 95 %, whatever the distribution.

        None: there are too few values for that, as for p99 below 368.
        """
        found = interval(len(self.values), QUANTILES[statistic])
        return None if found is None else (self.values[found[0]], self.values[found[1]])

    def document(self) -> dict[str, Any]:
        """For a journal; an interval that can't be told is null."""
        told: dict[str, Any] = {name: _rounded(self[name]) for name in STATISTICS if name != "count"}
        return {
            **told,
            "count": len(self.values),
            "ci95": {
                name: None if (found := self.interval(name)) is None else [_rounded(each) for each in found]
                for name in QUANTILES
            },
        }


def rank(count: int, quantile: float) -> int:
    """The index of the smallest of `count` sorted values that at least that share of them doesn't exceed."""
    return max(0, math.ceil(round(quantile * count, 9)) - 1)


def interval(count: int, quantile: float, level: float = LEVEL) -> tuple[int, int] | None:
    """The narrowest pair of order statistics, equal tails, that holds a quantile with that probability.

    How many of `count` independent values lie below the quantile is binomial, so no shape is assumed.

    Returns:
        Indices into the sorted values; None when even the whole range doesn't hold it so often.
    """
    tail = (1.0 - level) / 2.0
    below = 0.0
    low = high = None
    for number in range(count):  # `number` values lie below the quantile
        below += math.comb(count, number) * quantile**number * (1.0 - quantile) ** (count - number)
        if below <= tail:
            low = number
        if below >= 1.0 - tail:
            high = number
            break
    return None if low is None or high is None else (low, high)


def needed(quantile: float) -> int:
    """From how many values on an interval of a quantile can be told."""
    rare = min(quantile, 1.0 - quantile)
    return math.ceil(math.log((1.0 - LEVEL) / 2.0) / math.log(1.0 - rare))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
