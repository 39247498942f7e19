"""docs/telemetry.md's table of spans as data, and what a span does that it doesn't say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from component.tracing.reading import Span

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "telemetry.md"
KINDS: Final = {"internal", "client", "server"}
WORDS: Final = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Terms:
    """What must be there and what may be."""

    must: frozenset[str]
    may: frozenset[str]

    @classmethod
    def of(cls, cell: str) -> Terms:
        words = WORDS.findall(cell)
        optional = {word.strip("[]") for word in words if word.startswith("[")}
        return cls(frozenset(word for word in words if not word.startswith("[")), frozenset(optional))

    def problems(self, what: str, found: set[str]) -> list[str]:
        missing, unknown = self.must - found, found - self.must - self.may
        return [f"{what} missing: {sorted(missing)}"] * bool(missing) + [f"{what} unknown: {sorted(unknown)}"] * bool(
            unknown
        )


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of span. `<...>` in its name stands for a word."""

    name: str
    kind: str
    attributes: Terms
    links: Terms

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile("".join(r"[\w-]+" if part.startswith("<") else re.escape(part) for part in _parts(self.name)))


def _parts(name: str) -> list[str]:
    return re.split(r"(<[^>]+>)", name)


@cache
def table() -> tuple[Row, ...]:
    """The rows, those without placeholders first."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| `")]
    rows = [
        Row(each[0].strip("`"), each[1], Terms.of(each[2]), Terms.of(each[3]))
        for each in cells
        if len(each) == 5 and each[1] in KINDS
    ]
    return tuple(sorted(rows, key=lambda row: ("<" in row.name, row.name)))


def row_of(name: str) -> Row | None:
    return next((row for row in table() if row.pattern.fullmatch(name)), None)


def violations(span: Span) -> list[str]:
    """What a span has or lacks against the table."""
    row = row_of(span.name)
    if row is None:
        return [f"{span.name}: not in the table"]
    found = row.attributes.problems("attributes", set(span.attributes))
    found += row.links.problems("links", {one.kind for one in span.references})
    if span.kind != row.kind:
        found.append(f"kind {span.kind}")
    return [f"{span.name}: {problem}" for problem in found]
