"""The timing of an election, as a judge and a theory need it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from component.durations import parse_duration
from lockd.config import JITTER_FACTOR, ElectionConfig

if TYPE_CHECKING:
    from collections.abc import Iterable

_FLAGS: Final = {
    "leader-elect-lease-duration": "lease_duration",
    "leader-elect-renew-deadline": "renew_deadline",
    "leader-elect-retry-period": "retry_period",
    "exit-bound": "exit_bound",
    "drain-timeout": "drain_timeout",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Durations of an election, seconds. `exit_bound` 0: the default that follows from the others."""

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    drain_timeout: float = 5.0
    exit_bound: float = 0.0

    @classmethod
    def of_flags(cls, flags: Iterable[str]) -> Timing:
        """The timing that flags of `replica run` give, in the form `--name=value`; the last of a name counts.

        Raises:
            ValueError: A duration can't be read.
        """
        given = dict(flag.removeprefix("--").split("=", 1) for flag in flags if flag.startswith("--") and "=" in flag)
        return cls(**{field: parse_duration(given[flag]) for flag, field in _FLAGS.items() if flag in given})

    @property
    def config(self) -> ElectionConfig:
        """As a candidate has it, with all that follows from these.

        Raises:
            ConfigError: They don't go together.
        """
        return ElectionConfig(identity="any", **(asdict(self) | {"exit_bound": self.exit_bound or None}))

    @property
    def exit_seconds(self) -> float:
        """What stopping may take after the gate closed."""
        return self.config.exit_seconds

    @property
    def longest_poll(self) -> float:
        """Between two looks of a standby at the lease, at most."""
        return self.retry_period * (1.0 + JITTER_FACTOR)
