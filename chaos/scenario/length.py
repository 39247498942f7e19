"""Lengths of time that may depend on the lease: `5s`, `1.3 lease`, `1 lease + 2s`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

from chaos.timing import Timing
from component.durations import LONGEST, parse_duration
from component.durations import UNITS as NANOSECONDS

UNITS: Final = ("lease", "renew-deadline", "retry-period")

PATTERN: Final = r"^\s*{term}(\s*\+\s*{term})*\s*$".replace(
    "{term}", r"([0-9.]+ (lease|renew-deadline|retry-period)|([0-9.]+(ns|us|µs|μs|ms|s|m|h))+|0)"
)
"""What a length looks like, for a JSON Schema."""

_RELATIVE: Final = re.compile(r"(\d+\.?\d*|\.\d+)\s+([a-z-]+)", re.ASCII)


_LONGEST: Final = LONGEST / NANOSECONDS["s"]
"""Seconds that a length may have with the default timing: as much as a duration."""


@dataclass(frozen=True, slots=True)
class Length:
    """A sum of seconds and multiples of the lease's durations."""

    seconds: float = 0.0
    leases: float = 0.0
    renew_deadlines: float = 0.0
    retry_periods: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """The length that a text tells.

        Raises:
            ValueError: One line that names the text and the remedy.
        """
        seconds = 0.0
        multiples = dict.fromkeys(UNITS, 0.0)
        for term in text.split("+"):
            if (relative := _RELATIVE.fullmatch(term.strip())) is None:
                seconds += _seconds(term, text)
            elif (unit := relative[2]) in multiples:
                multiples[unit] += float(relative[1])
            else:
                raise ValueError(f"invalid length {text[:60]!r}: {unit!r} is none of {', '.join(UNITS)}")
        made = cls(seconds, *(multiples[unit] for unit in UNITS))
        # a multiple with enough digits is infinity, which nobody waits for
        if made.under(Timing()) > _LONGEST:
            raise ValueError(f"invalid length {text[:60]!r}: it is longer than 292 years")
        return made

    def under(self, timing: Timing) -> float:
        """In seconds, for these durations."""
        return (
            self.seconds
            + self.leases * timing.lease_duration
            + self.renew_deadlines * timing.renew_deadline
            + self.retry_periods * timing.retry_period
        )


def problem(text: str) -> str | None:
    """What is wrong with a length, in one line; None: nothing."""
    try:
        Length.parse(text)
    except ValueError as error:
        return str(error)
    return None


def _seconds(term: str, text: str) -> float:
    try:
        return parse_duration(term)
    except ValueError as error:
        remedy = "write 5s, 1.3 lease, 0.5 renew-deadline, 2 retry-period, or a sum of them with +"
        raise ValueError(f"invalid length {text[:60]!r}: {remedy}") from error
