"""A journal made of what was judged and measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.journal.journal import CheckResult, Done, Evidence, PhasesMs, Trial
from chaos.measure.phases import NAMES, milliseconds, successions
from lockd.record import display_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chaos.checks.violation import Violation
    from chaos.journal.journal import Planned
    from chaos.record import Action, Record


def trial(
    record: Record,
    *,
    number: int,
    began: float,
    seed: str = "",
    schedule: Sequence[Planned] = (),
    wanted: Sequence[str] = NAMES,
    problems: Sequence[str] = (),
) -> Trial:
    """What one trial goes into the journal as.

    Args:
        record: Of this trial alone as far as actions and gaps go; its ledger may be the whole run's.
        began: When the trial did, on the tool's CLOCK_BOOTTIME.
        wanted: The phases that must be reached; none where no hand-off is expected.
        problems: What else did not hold, one line each.
    """
    first = next(iter(successions(record)), None)
    phases = first.phases if first is not None else None
    values = {name: phases.reached(name) if phases is not None else None for name in NAMES}
    missing = [f"phase {name} was not reached" for name in wanted if values[name] is None]
    about = first.action if first is not None else next(iter(record.actions), None)
    return Trial(
        number=number,
        seed=seed,
        fault=fault_name(about) if about is not None else "none",
        phases=PhasesMs(**{f"{name}_ms": milliseconds(value) for name, value in values.items()}),
        takeover=first.takeover if first is not None else "",
        error_ms=milliseconds(phases.error) or 0.0 if phases is not None else 0.0,
        client_gap_ms=milliseconds(max((gap.seconds for gap in record.gaps), default=None)),
        ok=not missing and not problems,
        problems=(*missing, *problems),
        schedule=tuple(schedule),
        actions=tuple(_done(action, began) for action in record.actions),
    )


def results(
    judged: Sequence[tuple[int, Mapping[str, Sequence[Violation]]]], *, began: float
) -> tuple[CheckResult, ...]:
    """Each check over all that was judged.

    Args:
        judged: The number of the trial (0: the whole run) and what `chaos.checks.judged` found in its record.
        began: When the run did, on the tool's CLOCK_BOOTTIME.
    """
    evidence: dict[str, list[Evidence]] = {}
    for number, found in judged:
        for name, violations in found.items():
            evidence.setdefault(name, []).extend(_evidence(each, number, began) for each in violations)
    return tuple(CheckResult(name=name, ok=not each, evidence=tuple(each)) for name, each in evidence.items())


def fault_name(action: Action) -> str:
    """A fault for people: what was done to which role."""
    return f"{action.fault} {action.role or action.target}"


def _done(action: Action, began: float) -> Done:
    return Done(
        fault=action.fault,
        role=action.role,
        target=action.target,
        identity=action.identity,
        at_ms=milliseconds(action.at - began) or 0.0,
        healed_ms=milliseconds(action.healed_at - began) if action.healed_at is not None else None,
        proof=action.proof,
        healing=action.healing,
        time=display_time(action.wall) if action.wall else "",
    )


def _evidence(violation: Violation, number: int, began: float) -> Evidence:
    return Evidence(
        rule=violation.check,
        message=violation.message,
        facts=violation.evidence,
        revision=violation.revision,
        key=violation.key,
        token=violation.token,
        term_token=violation.term_token,
        identity=violation.identity,
        at_ms=milliseconds(violation.at - began) if violation.at is not None else None,
        trial=number,
    )
