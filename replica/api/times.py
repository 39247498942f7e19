"""Times as manifests carry them (RFC 3339), and how long ago they were, as kubectl shows it."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
YEAR: Final = 365 * DAY


def format_time(wall: float) -> str:
    """RFC 3339 in UTC, whole seconds, from seconds since 1970."""
    return datetime.fromtimestamp(math.floor(wall), UTC).isoformat().replace("+00:00", "Z")


def parse_time(text: str) -> float | None:
    """Seconds since 1970, or None when the text is no RFC 3339 time."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo is not None else None


def format_age(seconds: float) -> str:
    """A length of time in at most two units: `45s`, `5m12s`, `3h7m`, `2d5h`, `400d`, `3y20d`."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    # Above each bound a step is too coarse to tell its smaller unit (kubectl's bounds).
    if whole < 2 * MINUTE:
        return f"{max(0, whole)}s"
    if whole < 10 * MINUTE:
        return _pair(whole, MINUTE, "m", 1, "s")
    if whole < 3 * HOUR:
        return f"{whole // MINUTE}m"
    if whole < 8 * HOUR:
        return _pair(whole, HOUR, "h", MINUTE, "m")
    if whole < 2 * DAY:
        return f"{whole // HOUR}h"
    if whole < 8 * DAY:
        return _pair(whole, DAY, "d", HOUR, "h")
    if whole < 2 * YEAR:
        return f"{whole // DAY}d"
    if whole < 8 * YEAR:
        return _pair(whole, YEAR, "y", DAY, "d")
    return f"{whole // YEAR}y"


def age_of(text: str, now: float) -> str:
    """How long before `now` (seconds since 1970) a time was; `<unknown>` when it is none."""
    then = parse_time(text)
    return "<unknown>" if then is None else format_age(now - then)


def _pair(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_unit}" + (f"{rest}{small_unit}" if rest else "")
