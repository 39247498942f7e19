"""Journals made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chaos.journal.journal import CheckResult, Journal, PhasesMs, Trial, summarize

if TYPE_CHECKING:
    from collections.abc import Iterable


def trial(number: int, failover: float | None, **fields: Any) -> Trial:
    """A trial whose later phases took 10 ms each and whose client waited 30 ms more."""
    if failover is None:
        return Trial(**{"number": number, "fault": "kill leader", "phases": PhasesMs(), "ok": False, **fields})
    phases = PhasesMs(
        detected_ms=failover - 5.0, elected_ms=failover, warm_ms=failover + 10.0, first_bind_ms=failover + 20.0
    )
    told = {"number": number, "fault": "kill leader", "phases": phases, "client_gap_ms": failover + 50.0, **fields}
    return Trial(**told)


def journal(failovers: Iterable[float | None], **fields: Any) -> Journal:
    """One trial for each failover, all checks held."""
    trials = tuple(trial(number, failover) for number, failover in enumerate(failovers, 1))
    told = {
        "scenario": "kill-leader",
        "backend": "local",
        "seed": 7,
        "trials": trials,
        "summary": summarize(trials),
        "checks": (CheckResult(name="one-term", ok=True),),
        **fields,
    }
    return Journal(**told)
