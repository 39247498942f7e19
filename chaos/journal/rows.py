"""What a journal shows to people, as rows of text: the terminal and Markdown draw the same ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chaos.journal.thresholds import METRICS, distribution
from chaos.measure.distribution import QUANTILES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chaos.journal.journal import Journal

STATISTICS_HEAD: Final = ("MS FROM THE FAULT", "MIN", "P50", "P90", "P99", "MAX", "TRIALS", "95 % OF P50")
THEORY_HEAD: Final = ("FAILOVER BY", "MIN", "MEAN", "P99", "MAX")
TRIAL_HEAD: Final = ("TRIAL", "FAULT", "TAKEOVER", "DETECTED", "ELECTED", "WARM", "FIRST BIND", "CLIENT GAP", "OK")
CHECK_HEAD: Final = ("CHECK", "OK")


def title(journal: Journal) -> str:
    """One line: what was run, and the verdict."""
    verdict = "passed" if journal.passed else "FAILED"
    return f"{journal.scenario} on {journal.backend}: {counted(len(journal.trials), 'trial')}, {verdict}"


def statistics(journal: Journal) -> list[tuple[str, ...]]:
    """Each metric over the trials; those that no trial has are left out."""
    rows = []
    for metric in METRICS:
        told = distribution(journal.trials, metric)
        if told.values:
            sure = told.interval("p50")
            values = (ms(told[name]) for name in ("min", *QUANTILES, "max"))
            between = f"{ms(sure[0])} to {ms(sure[1])}" if sure is not None else "too few trials"
            rows.append((metric.removesuffix("_ms"), *values, str(len(told.values)), between))
    return rows


def theory(journal: Journal) -> list[tuple[str, ...]]:
    """What the timing allows."""
    return [(each.name, ms(each.min), ms(each.mean), ms(each.p99), ms(each.max)) for each in journal.theory]


def trials(journal: Journal) -> list[tuple[str, ...]]:
    """Each trial."""
    return [
        (
            str(trial.number),
            trial.fault,
            trial.takeover or "-",
            ms(trial.phases.detected_ms),
            ms(trial.phases.elected_ms),
            ms(trial.phases.warm_ms),
            ms(trial.phases.first_bind_ms),
            ms(trial.client_gap_ms),
            mark(ok=trial.ok),
        )
        for trial in journal.trials
    ]


def checks(journal: Journal) -> list[tuple[str, ...]]:
    """Each check and threshold."""
    thresholds = ((f"not {each.threshold}", each.ok) for each in journal.thresholds)
    held = (*((check.name, check.ok) for check in journal.checks), *thresholds)
    return [(name, mark(ok=ok)) for name, ok in held]


def failures(journal: Journal, *, most: int = 5) -> Iterator[tuple[str, Sequence[str]]]:
    """What did not hold: a heading, and the lines that show it, `most` pieces of evidence for a check."""
    for trial in journal.trials:
        if not trial.ok:
            yield f"trial {trial.number} ({trial.fault})", trial.problems
    for check in journal.checks:
        if not check.ok:
            lines: list[str] = []
            for each in check.evidence[:most]:
                lines.append(" ".join(filter(None, (_place(each.trial, each.revision, each.key), each.message))))
                lines.extend(f"  {fact}" for fact in each.facts)
            if len(check.evidence) > most:
                lines.append(f"... and {len(check.evidence) - most} more in the journal")
            yield f"check {check.name}", lines
    for threshold in journal.thresholds:
        if not threshold.ok:
            found = "nothing was measured" if threshold.value is None else f"it is {threshold.value:g}"
            yield f"threshold {threshold.threshold}", (found,)


def notes(journal: Journal) -> list[str]:
    """How to repeat it, where things are, and the rare conditions that were seen."""
    seen = [f"{name} {count}" for name, count in journal.sometimes.items() if count]
    told = (
        ("seed", str(journal.seed)),
        ("repeat", journal.command),
        ("kept", journal.kept),
        ("seen", ", ".join(seen)),
    )
    return [f"{name}: {text}" for name, text in told if text]


def ms(value: float | None) -> str:
    """Milliseconds for people."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100.0 else f"{value:.1f}"


def mark(*, ok: bool) -> str:
    """A verdict in one word."""
    return "ok" if ok else "FAILED"


def _place(trial: int, revision: int, key: str) -> str:
    parts = (f"trial {trial}" if trial else "", f"revision {revision}" if revision else "", key)
    told = ", ".join(filter(None, parts))
    return f"{told}:" if told else ""


def counted(number: int, noun: str) -> str:
    """`1 trial`, `3 trials`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
