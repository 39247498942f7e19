"""Thresholds that a run is held to, such as `failover_ms.p99>500`: what must not be."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chaos.journal.journal import Verdict
from chaos.measure.distribution import STATISTICS, Distribution
from component.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chaos.journal.journal import Journal, Trial

METRICS: Final[dict[str, Callable[[Trial], float | None]]] = {
    "detected_ms": lambda trial: trial.phases.detected_ms,
    "failover_ms": lambda trial: trial.phases.elected_ms,
    "warm_ms": lambda trial: trial.phases.warm_ms,
    "first_bind_ms": lambda trial: trial.phases.first_bind_ms,
    "client_gap_ms": lambda trial: trial.client_gap_ms,
}
"""What is measured in each trial, in milliseconds."""

COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}

_FORM: Final = re.compile(
    r"\s*(?P<metric>[^\s.<>=!]+)\.(?P<statistic>[^\s.<>=!]+)\s*(?P<sign>[<>=!]+)\s*(?P<limit>.+?)\s*"
)


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a run fails by if it holds.

    Attributes:
        text: As it was given.
        limit: Milliseconds, or a number of trials for `count`.
    """

    text: str
    metric: str
    statistic: str
    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """`METRIC.STATISTIC>LIMIT`, the limit in milliseconds or with a unit.

        Raises:
            ValueError: It is none; one line that names what is wrong and what there is.
        """
        found = _FORM.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no threshold: write METRIC.STATISTIC>LIMIT, such as 'failover_ms.p99>500'")
        metric, statistic, sign, limit = found.groups()
        if metric not in METRICS:
            raise ValueError(f"{text!r}: no metric is called {metric!r}: there are {', '.join(METRICS)}")
        if statistic not in STATISTICS:
            raise ValueError(f"{text!r}: no statistic is called {statistic!r}: there are {', '.join(STATISTICS)}")
        if sign not in COMPARISONS:
            raise ValueError(f"{text!r}: no comparison is written {sign!r}: there are {' '.join(COMPARISONS)}")
        return cls(text, metric, statistic, sign, _limit(text, statistic, limit))

    def judge(self, trials: Iterable[Trial]) -> Verdict:
        """Does the run stand it? Where nothing was measured, it doesn't: a threshold is no promise about nothing."""
        value = distribution(trials, self.metric)[self.statistic]
        ok = value is not None and not COMPARISONS[self.sign](value, self.limit)
        return Verdict(threshold=self.text, value=None if value is None else round(value, 3), ok=ok)


def distribution(trials: Iterable[Trial], metric: str) -> Distribution:
    """One metric over trials, those left out that have none."""
    return Distribution.of(METRICS[metric](trial) for trial in trials)


def judged(journal: Journal, thresholds: Iterable[Threshold]) -> tuple[Verdict, ...]:
    """What these thresholds say of a journal."""
    return tuple(threshold.judge(journal.trials) for threshold in thresholds)


def _limit(text: str, statistic: str, limit: str) -> float:
    count = statistic == "count"
    for read in (float,) if count else (float, _milliseconds):
        try:
            number = read(limit)
        except ValueError:
            continue
        # nothing is above infinity, and no comparison with nan holds: such a threshold could fail no run
        if math.isfinite(number):
            return number
    remedy = "a number of trials, such as 3" if count else "milliseconds, such as 500, or 500ms, or 1.5s"
    raise ValueError(f"{text!r}: {limit!r} is no limit: write {remedy}")


def _milliseconds(duration: str) -> float:
    return parse_duration(duration) * 1e3
