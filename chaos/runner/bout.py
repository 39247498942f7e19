"""Some trials on one cluster: what was done, seen and judged there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaos.runner import expecting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chaos.checks.violation import Violation
    from chaos.runner.assembly import Assembled
    from chaos.runner.deed import Outcome
    from chaos.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class Bout:
    """One cluster's life.

    Attributes:
        outcomes: In the order of the trials; never empty.
        judged: What each check found, by its name.
        problems: What else did not hold, by the trial's number; trials without are left out.
    """

    outcomes: tuple[Outcome, ...]
    found: Assembled
    judged: Mapping[str, Sequence[Violation]]
    problems: Mapping[int, tuple[str, ...]]

    @property
    def passed(self) -> bool:
        return not (any(self.judged.values()) or self.problems)


def unplanned(
    scenario: Scenario, outcomes: Sequence[Outcome], found: Assembled, *, traced: bool = True
) -> dict[int, tuple[str, ...]]:
    """What did not go as planned or expected, by the trial's number.

    Args:
        traced: Do replicas tell what they did?
    """
    told = {}
    for outcome, record in zip(outcomes, found.trials, strict=True):
        unmet = expecting.unmet(scenario, record, began=outcome.began, ended=outcome.ended, traced=traced)
        if problems := (*outcome.problems, *unmet):
            told[outcome.plan.number] = problems
    return told
