"""Durations as people write them, in Go's notation: `15s`, `1m30s`, `500ms`, `1.5h`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

UNITS: Mapping[str, int] = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # micro sign
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
"""Nanoseconds in each unit."""

LONGEST = 2**63 - 1
"""Nanoseconds that a duration may have: what Go's type holds, about 292 years."""

_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_SECOND = UNITS["s"]


def parse_duration(text: str) -> float:
    """Seconds in a duration such as `1m30s`.

    Raises:
        ValueError: One line that names the text and the remedy.
    """
    written = text.strip()
    if written.removeprefix("+") == "0":
        return 0.0
    nanoseconds, end = Fraction(0), 0
    while part := _PART.match(written, end):
        nanoseconds += Fraction(part[1]) * UNITS[part[2]]
        end = part.end()
    if end < len(written) or not written:
        raise ValueError(_refusal(text, written))
    if nanoseconds > LONGEST:
        raise ValueError(f"invalid duration {text[:60]!r}: it is longer than 292 years")
    return float(nanoseconds / _SECOND)


def format_duration(seconds: float) -> str:
    """The shortest usual notation, to the nanosecond: 90 is `1m30s`, 3600 is `1h0m0s`, 0.5 is `500ms`, 0 is `0s`."""
    nanoseconds = round(Fraction(seconds) * _SECOND)
    sign, nanoseconds = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if nanoseconds == 0:
        return "0s"
    if nanoseconds < _SECOND:
        unit = next(name for name in ("ms", "us", "ns") if nanoseconds >= UNITS[name])
        return f"{sign}{_decimal(nanoseconds, UNITS[unit])}{unit}"
    minutes, rest = divmod(nanoseconds, UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    leading = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{leading}{_decimal(rest, _SECOND)}s"


class DurationType(click.ParamType[float]):
    """A click parameter in this notation; its value is in seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        try:
            return parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


DURATION = DurationType()


def _refusal(text: str, written: str) -> str:
    start = f"invalid duration {text[:60]!r}: "
    if written.startswith("-"):
        return start + "it must not be negative"
    if re.fullmatch(r"\d+\.?\d*|\.\d+", written, re.ASCII):
        return start + f"its unit is missing: write {written[:20]}s for seconds"
    return start + "write numbers with units, such as 15s, 1m30s or 500ms"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0")
