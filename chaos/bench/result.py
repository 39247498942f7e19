"""What a benchmark found, as a document and as lines for people."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run.

    Attributes:
        value: In the benchmark's unit.
        limit: What would be possible, measured beside it under the same load, in the same unit.
        details: What else was measured, ready for JSON.
    """

    value: float
    limit: float
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """All runs of one benchmark; at least one.

    Attributes:
        limit: What `Run.limit` is.
        machine: What it ran on.
        notes: What a reader must know to trust the figures or not.
    """

    name: str
    unit: str
    limit: str
    runs: tuple[Run, ...]
    machine: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def median(self) -> float:
        return statistics.median(run.value for run in self.runs)

    @property
    def ceiling(self) -> float:
        """The limits' median."""
        return statistics.median(run.limit for run in self.runs)

    @property
    def ratio(self) -> float:
        """Which share of the limit was reached."""
        return self.median / self.ceiling if self.ceiling else 0.0

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "unit": self.unit,
            "runs": [round(run.value, 3) for run in self.runs],
            "median": round(self.median, 3),
            "limit": {"name": self.limit, "median": round(self.ceiling, 3)},
            "ratio": round(self.ratio, 4),
            "details": [run.details for run in self.runs],
            "machine": self.machine,
            "notes": list(self.notes),
        }


def table(results: list[Result]) -> list[str]:
    """The results in rows, and under them what each run says beside its value."""
    head = ("BENCHMARK", "MEDIAN", "RUNS", "LIMIT", "RATIO", "UNIT")
    rows = [
        (
            result.name,
            _number(result.median),
            " ".join(_number(run.value) for run in result.runs),
            f"{_number(result.ceiling)} ({result.limit})",
            f"{result.ratio:.0%}",
            result.unit,
        )
        for result in results
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ["   ".join(map(str.ljust, row, widths)).rstrip() for row in (head, *rows)]
    for result in results:
        lines += ["", f"{result.name}:"]
        for number, run in enumerate(result.runs, 1):
            lines += [f"  run {number}: {line}" for line in _said(run.details)]
        lines += [f"  note: {note}" for note in result.notes]
    return lines


def _said(details: dict[str, Any]) -> list[str]:
    """Details as `name value` pairs; a group of them is a line of its own."""
    flat = ", ".join(f"{name} {_shown(value)}" for name, value in details.items() if not isinstance(value, dict))
    groups = [
        f"{name}: " + ", ".join(f"{key} {_shown(value)}" for key, value in group.items())
        for name, group in details.items()
        if isinstance(group, dict)
    ]
    return [*([flat] if flat else []), *groups]


def _shown(value: object) -> str:
    return _number(value) if isinstance(value, float) else str(value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
