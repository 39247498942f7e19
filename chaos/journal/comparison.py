"""Two journals held against each other: is the second one slower, by more than a ratio, and by more than chance?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from chaos.journal.rows import ms
from chaos.journal.thresholds import METRICS, distribution
from chaos.measure.distribution import QUANTILES, rank
from component.tables import table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from chaos.journal.journal import Journal
    from chaos.measure.distribution import Distribution

CHANCE: Final = 0.05
"""What chance alone may bring about more often than this shows nothing."""

SHUFFLES: Final = 4000
SEED: Final = 1
"""Of the shuffles: the same journals are judged the same."""

HEAD: Final = ("METRIC", "A", "B", "RATIO", "BY CHANCE", "VERDICT")


class Outcome(StrEnum):
    """What a statistic says."""

    REGRESSION = "regression"
    TOO_WEAK = "too weak to tell"
    FASTER = "faster"
    SAME = "within the ratio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One statistic of one metric in both.

    Attributes:
        before, after: Milliseconds.
        chance: How often trials dealt at random to two runs of these sizes differ so much, in the same direction.
    """

    metric: str
    statistic: str
    before: float
    after: float
    chance: float
    outcome: Outcome

    @property
    def name(self) -> str:
        return f"{self.metric}.{self.statistic}"

    @property
    def ratio(self) -> float:
        """How many times as long the second one takes."""
        if self.before > 0:
            return self.after / self.before
        return 1.0 if self.after <= 0 else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All of them.

    Attributes:
        trials: How many each journal has.
        lost: Metrics that only the first one measured: the second is worse than can be told.
        notes: What a reader must know to trust it or not, one line each.
    """

    ratio: float
    trials: tuple[int, int]
    statistics: tuple[Compared, ...]
    lost: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def regressed(self) -> bool:
        return bool(self.lost) or any(each.outcome is Outcome.REGRESSION for each in self.statistics)

    def document(self) -> dict[str, Any]:
        """For machines. A ratio to nothing is null."""
        return {
            "ratio": self.ratio,
            "trials": list(self.trials),
            "statistics": [
                {
                    "name": each.name,
                    "a_ms": each.before,
                    "b_ms": each.after,
                    "ratio": round(each.ratio, 4) if math.isfinite(each.ratio) else None,
                    "chance": round(each.chance, 4),
                    "outcome": each.outcome.value,
                }
                for each in self.statistics
            ],
            "lost": list(self.lost),
            "regressed": self.regressed,
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """For people."""
        rows = [
            (each.name, ms(each.before), ms(each.after), f"{each.ratio:.2f}", f"{each.chance:.3f}", each.outcome.value)
            for each in self.statistics
        ]
        worse = [each.name for each in self.statistics if each.outcome is Outcome.REGRESSION]
        worse += [f"{metric} (not measured in B)" for metric in self.lost]
        verdict = f"REGRESSION: {', '.join(worse)}" if worse else "no regression that can be told from chance"
        return [*table(HEAD, rows), "", *self.notes, verdict]


def compare(before: Journal, after: Journal, *, ratio: float) -> Comparison:
    """Hold the second journal against the first.

    A statistic has regressed if it is more than `ratio` times as long and trials dealt at random would seldom show
    that: no shape of the distributions is assumed. So has a metric that the second one did not measure at all, where
    both measured in the same way.

    Args:
        ratio: Above 1.
    """
    rng = np.random.default_rng(SEED)
    compared: list[Compared] = []
    alone: dict[str, str] = {}
    for metric in METRICS:
        a, b = distribution(before.trials, metric), distribution(after.trials, metric)
        if a.values and b.values:
            compared.extend(_compare(metric, a, b, ratio, rng))
        elif a.values or b.values:
            alone[metric] = "A" if a.values else "B"
    return Comparison(
        ratio=ratio,
        trials=(len(before.trials), len(after.trials)),
        statistics=tuple(compared),
        lost=tuple(metric for metric, where in alone.items() if where == "A") if _alike(before, after) else (),
        notes=_notes(before, after, compared, alone),
    )


def fewest(trials: int) -> int:
    """How many trials a run needs beside another of `trials` for a difference to be told from chance; 0: no number."""
    for count in range(1, 10_000):
        if math.comb(count + trials, trials) >= 1 / CHANCE:
            return count
    return 0


def _compare(metric: str, a: Distribution, b: Distribution, ratio: float, rng: np.random.Generator) -> list[Compared]:
    shuffled = _shuffled(a, b, rng)
    found = []
    for statistic in QUANTILES:
        before, after = a[statistic] or 0.0, b[statistic] or 0.0
        chance = _chance(shuffled, len(a.values), statistic, after - before)
        slower = after > before * ratio
        if slower:
            outcome = Outcome.REGRESSION if chance <= CHANCE else Outcome.TOO_WEAK
        else:
            outcome = Outcome.FASTER if before > after * ratio and chance <= CHANCE else Outcome.SAME
        found.append(
            Compared(metric=metric, statistic=statistic, before=before, after=after, chance=chance, outcome=outcome)
        )
    return found


def _shuffled(a: Distribution, b: Distribution, rng: np.random.Generator) -> NDArray[np.float64]:
    """All values, dealt at random again and again: one deal a row."""
    pooled = np.tile(np.array([*a.values, *b.values]), (SHUFFLES, 1))
    return rng.permuted(pooled, axis=1)


def _chance(shuffled: NDArray[np.float64], first: int, statistic: str, seen: float) -> float:
    """The share of deals in which the second hand exceeds (or falls below) the first by as much as was seen."""
    quantile, second = QUANTILES[statistic], shuffled.shape[1] - first
    left = np.sort(shuffled[:, :first], axis=1)[:, rank(first, quantile)]
    right = np.sort(shuffled[:, first:], axis=1)[:, rank(second, quantile)]
    apart = right - left
    as_much = apart >= seen if seen >= 0 else apart <= seen
    # No smaller than what so many deals can tell, nor than one deal among all that there are.
    least = max(1 / (SHUFFLES + 1), 1 / math.comb(first + second, first))
    return max(float(np.mean(as_much)), least)


def _alike(before: Journal, after: Journal) -> bool:
    """Can both measure the same? Another backend may have no traces to look into, another scenario no hand-off."""
    return all(
        not a or not b or a == b
        for a, b in (
            (before.scenario, after.scenario),
            (before.backend, after.backend),
            (before.subject, after.subject),
        )
    )


def _notes(before: Journal, after: Journal, compared: list[Compared], alone: dict[str, str]) -> tuple[str, ...]:
    notes = []
    for what, a, b in (
        ("scenarios", before.scenario, after.scenario),
        ("backends", before.backend, after.backend),
        ("timings", before.timing, after.timing),
        ("subjects", before.subject, after.subject),
    ):
        if a and b and a != b:
            notes.append(f"different {what}: {_told(a)} and {_told(b)}")
    counts = (len(before.trials), len(after.trials))
    if math.comb(sum(counts), counts[0]) < 1 / CHANCE:
        notes.append(
            f"{counts[0]} and {counts[1]} trials can't tell anything from chance: "
            f"it takes 3 each at least{_beside(counts[0])}"
        )
    weak = [each.name for each in compared if each.outcome is Outcome.TOO_WEAK]
    if weak:
        notes.append(f"{counts[0]} and {counts[1]} trials are too few to tell: {', '.join(weak)}: run more of both")
    notes += [f"{metric} was measured in {where} alone: it can't be compared" for metric, where in alone.items()]
    if not compared:
        notes.append("there is nothing to compare: no metric was measured in both")
    return tuple(notes)


def _beside(trials: int) -> str:
    count = fewest(trials)
    return f", or {count} beside {trials}" if count and trials > 0 else ""


def _told(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={each:g}" for name, each in value.items())
    return str(value)
