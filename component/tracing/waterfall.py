"""Spans laid out in time, one under the other: for a terminal here, and for others as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from component.tables import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

NARROWEST: Final = 20
"""Characters for the bars at least."""

CHART: Final = 48
"""Characters for the bars."""

BAR, POINT, BEFORE = "=", "*", "<"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line.

    Attributes:
        what: The span's or event's name.
        start: Wall seconds; `end` is the same moment for what has no length.
        who: Whose it is.
        note: What its attributes tell, in a few words.
        depth: How many rows it is within.
        failed: It brought an error.
    """

    what: str
    start: float
    end: float
    who: str = ""
    note: str = ""
    depth: int = 0
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Waterfall:
    """Rows in the order in which they are shown.

    Attributes:
        origin: The wall second that offsets count from.
        facts: What is to be said of all of it, a line each.
        parts: Names and seconds of what all of it is made of, one after the other from the origin; None: not known.
        since: Where the picture begins, if rows begin before: those are shown as coming from there.
    """

    title: str
    origin: float
    rows: tuple[Row, ...]
    facts: tuple[str, ...] = ()
    parts: tuple[tuple[str, float | None], ...] = ()
    since: float | None = None

    @property
    def window(self) -> tuple[float, float]:
        """Where the picture begins and ends, wall seconds; never the same moment."""
        start = min((row.start for row in self.rows), default=self.origin)
        if self.since is not None:
            start = max(start, self.since)
        end = max((row.end for row in self.rows), default=start)
        return start, max(end, start + 1e-6)

    def place(self, row: Row) -> tuple[float, float]:
        """Where a row's bar begins and ends, as parts of the picture's width from 0 to 1."""
        start, end = self.window
        width = end - start
        left, right = ((moment - start) / width for moment in (row.start, row.end))
        return min(max(left, 0.0), 1.0), min(max(right, 0.0), 1.0)


def lines(waterfall: Waterfall, *, width: int = CHART) -> list[str]:
    """For a terminal: title, facts, and a line for each row with its bar, offset, length and whose it is."""
    width = max(width, NARROWEST)
    names = [f"{'  ' * row.depth}{row.what}" for row in waterfall.rows]
    widest = max(map(len, names), default=0)
    out = [waterfall.title, *(f"  {fact}" for fact in waterfall.facts)]
    if waterfall.parts:
        out.append(f"  {'   '.join(f'{name} {milliseconds(seconds)}' for name, seconds in waterfall.parts)}")
    for name, row in zip(names, waterfall.rows, strict=True):
        told = "  ".join(part for part in (row.who, f"({row.note})" if row.note else "") if part)
        length = "" if row.end <= row.start else milliseconds(row.end - row.start)
        offset = f"{(row.start - waterfall.origin) * 1e3:+.1f} ms"
        line = f"  {offset:>14}  |{_bar(waterfall, row, width)}|  {name:<{widest}}  {length:>11}  {told}"
        out.append(line.rstrip())
    return [one_line(line) for line in out]


def _bar(waterfall: Waterfall, row: Row, width: int) -> str:
    left, right = waterfall.place(row)
    first = min(int(left * width), width - 1)
    if row.end <= row.start:
        mark = BEFORE if row.start < waterfall.window[0] else POINT
        return f"{' ' * first}{mark}".ljust(width)
    last = max(first + 1, round(right * width))
    bar = BAR * (last - first)
    if row.start < waterfall.window[0]:
        bar = BEFORE + bar[1:]
    return f"{' ' * first}{bar}".ljust(width)


def milliseconds(seconds: float | None) -> str:
    """For people; `-` when there is nothing to tell."""
    return "-" if seconds is None else f"{seconds * 1e3:.1f} ms"


def note(attributes: dict[str, object], names: Sequence[str]) -> str:
    """Those of the attributes that are there, as `name value, ...`."""
    return ", ".join(f"{name} {_text(attributes[name])}" for name in names if attributes.get(name) not in (None, ""))


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
