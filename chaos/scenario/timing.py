"""The lease's three durations: what a scenario's lengths are measured in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from component.durations import format_duration


@dataclass(frozen=True, slots=True)
class Timing:
    """Of the election under test, in seconds."""

    lease: float
    renew_deadline: float
    retry_period: float

    def flags(self) -> tuple[str, ...]:
        """As flags of `replica run`."""
        return (
            f"--leader-elect-lease-duration={format_duration(self.lease)}",
            f"--leader-elect-renew-deadline={format_duration(self.renew_deadline)}",
            f"--leader-elect-retry-period={format_duration(self.retry_period)}",
        )


FAST: Final = Timing(3.0, 2.0, 0.5)
"""`--fast`."""

DEFAULTS: Final = Timing(15.0, 10.0, 2.0)
"""As in production."""
