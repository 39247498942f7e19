"""The journal of a run, out of its bouts. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chaos.checks import sometimes
from chaos.journal import building, journal
from chaos.journal.journal import CheckResult, Evidence, Expected, Journal, Planned
from chaos.measure import theory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from chaos.journal.journal import Trial
    from chaos.runner import schedule
    from chaos.runner.bout import Bout
    from chaos.runner.order import Order

_TIMES: Final = ("lease_duration", "renew_deadline", "retry_period")


def journal_of(order: Order, bouts: Sequence[Bout], *, began: float, wall: str, seconds: float, kept: str) -> Journal:
    """All that a run has to tell.

    Args:
        began: When it did, on CLOCK_BOOTTIME.
        wall: The same, RFC 3339.
        seconds: How long it took.
        kept: Where what shows it lies; "": nothing was kept.
    """
    trials = tuple(trial for bout in bouts for trial in _trials(bout))
    counts = sometimes.seen(bout.found.whole for bout in bouts)
    fresh = order.scenario.configuration.fresh
    judged = [(bout.outcomes[0].plan.number if fresh else 0, bout.judged) for bout in bouts]
    return Journal(
        scenario=order.name,
        backend=order.backend.name,
        seed=order.seed,
        trials=trials,
        summary=journal.summarize(trials),
        checks=(
            *building.results(judged, began=began),
            _expectations(order, bouts),
            _sometimes(order, counts),
        ),
        command=order.command,
        began=wall,
        seconds=round(seconds, 3),
        timing={name: getattr(order.timing, name) for name in _TIMES},
        theory=tuple(_theory(order, trials)),
        sometimes=counts,
        thresholds=tuple(each.judge(trials) for each in order.thresholds),
        kept=kept,
    )


def _trials(bout: Bout) -> Iterator[Trial]:
    for outcome, record in zip(bout.outcomes, bout.found.trials, strict=True):
        yield building.trial(
            record,
            number=outcome.plan.number,
            began=outcome.began,
            seed=outcome.plan.seed,
            schedule=[_planned(each) for each in outcome.plan.actions],
            wanted=(),  # what was wanted and not reached is among the problems
            problems=bout.problems.get(outcome.plan.number, ()),
        )


def _planned(action: schedule.Planned) -> Planned:
    return Planned(**action.document())


def _expectations(order: Order, bouts: Sequence[Bout]) -> CheckResult:
    """That each trial went as the scenario says, and that none is missing."""
    evidence = [
        Evidence(rule="expectation", message=line, trial=number)
        for bout in bouts
        for number, lines in bout.problems.items()
        for line in lines
    ]
    done = sum(len(bout.outcomes) for bout in bouts)
    if done < order.trials:
        message = f"trials {done + 1} to {order.trials} were not run: the cluster had not got back to its steady state"
        evidence.append(Evidence(rule="missing-trials", message=message))
    return CheckResult(name="expectations", ok=not evidence, evidence=tuple(evidence))


def _sometimes(order: Order, counts: Mapping[str, int]) -> CheckResult:
    wanted = order.scenario.expectations.sometimes if order.backend.traced else ()  # nobody tells otherwise
    never = sometimes.never(wanted, counts)
    evidence = tuple(Evidence(rule="never-seen", message=line) for line in never)
    return CheckResult(name="sometimes", ok=not evidence, evidence=evidence)


def _theory(order: Order, trials: Sequence[Trial]) -> Iterator[Expected]:
    """What theory says of the takeovers that were seen."""
    standbys = max(1, order.scenario.configuration.replicas - 1)
    names = {trial.takeover for trial in trials if trial.takeover}
    found = {each.name: each for name in sorted(names) for each in theory.beside(order.timing, name, standbys=standbys)}
    for each in found.values():
        milliseconds = {name: round(getattr(each, name) * 1e3, 3) for name in ("min", "mean", "p99", "max")}
        yield Expected(name=each.name, **milliseconds)
