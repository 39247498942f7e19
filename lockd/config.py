"""The configuration of an election: it can't exist invalid, and reports every problem at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lockd.errors import ConfigError

JITTER_FACTOR = 1.2
"""Polls of a standby are spread over [retry period, 2.2 retry periods]; client-go's factor."""

NAME_LIMIT = 253
"""Bytes in a namespace, a lock's name or an identity."""


def is_text(value: str) -> bool:
    """Has it a form in UTF-8? Bytes of a command line or an environment that are none come in as surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def name_problems(field: str, value: str) -> tuple[str, ...]:
    """What keeps `value` from being a part of a key, each as one line."""
    rules = (
        (bool(value), f"{field} must not be empty"),
        ("/" not in value, f"{field} {value[:60]!r} must not contain '/'"),
        (value.isprintable(), f"{field} {value[:60]!r} must hold printable characters only"),
        (
            len(value.encode(errors="replace")) <= NAME_LIMIT,
            f"{field} has {len(value.encode(errors='replace'))} bytes; at most {NAME_LIMIT} are possible",
        ),
    )
    return tuple(text for holds, text in rules if not holds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionConfig:
    """One candidate's view of an election. All durations are seconds on its own clock.

    Attributes:
        identity: Unique to this process, such as `hostname_uuid`.
        lease_duration: How long others wait after the last renewal they saw.
        renew_deadline: How long after the first send of the last renewal the leader goes on.
        retry_period: Between the first sends of two renewals; also a standby's fallback poll.
        exit_bound: What stopping may take after the gate closed; None: min(2, (lease - renew deadline) / 2).
        work_timeout: How long the work may make no progress.
        drain_timeout: How long work in flight may take after a request to stop.
        fenced: Are all effects of the holder guarded by etcd?

    Raises:
        ConfigError: With every problem.
    """

    identity: str
    namespace: str = "kube-system"
    name: str = "kube-scheduler"
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    exit_bound: float | None = None
    work_timeout: float = 20.0
    drain_timeout: float = 5.0
    fenced: bool = True

    def __post_init__(self) -> None:
        durations = {
            "lease duration": self.lease_duration,
            "renew deadline": self.renew_deadline,
            "retry period": self.retry_period,
            "work timeout": self.work_timeout,
            "drain timeout": self.drain_timeout,
        }
        if self.exit_bound is not None:
            durations["exit bound"] = self.exit_bound
        bad = {field: value for field, value in durations.items() if not (math.isfinite(value) and value > 0)}
        problems = [
            *name_problems("identity", self.identity),
            *name_problems("resource namespace", self.namespace),
            *name_problems("resource name", self.name),
            *(f"{field} must be a positive number of seconds, not {value}" for field, value in bad.items()),
        ]
        if not bad:
            rules: tuple[tuple[bool, str], ...] = (
                (
                    self.lease_duration > self.renew_deadline,
                    f"lease duration ({self.lease_duration:g}s) must exceed renew deadline ({self.renew_deadline:g}s)",
                ),
                (
                    self.renew_deadline > JITTER_FACTOR * self.retry_period,
                    (
                        f"renew deadline ({self.renew_deadline:g}s) must exceed {JITTER_FACTOR} x retry period "
                        f"({self.retry_period:g}s)"
                    ),
                ),
                (
                    self.renew_deadline + self.exit_seconds < self.lease_duration,
                    (
                        f"renew deadline ({self.renew_deadline:g}s) + exit bound ({self.exit_seconds:g}s) "
                        f"must stay below lease duration ({self.lease_duration:g}s)"
                    ),
                ),
            )
            if self.exit_bound is None and self.lease_duration <= self.renew_deadline:
                rules = rules[:-1]  # an exit bound that follows from these two is no problem of its own
            problems.extend(text for holds, text in rules if not holds)
        if problems:
            raise ConfigError(tuple(problems))

    @property
    def exit_seconds(self) -> float:
        """The exit bound in force."""
        if self.exit_bound is not None:
            return self.exit_bound
        return min(2.0, (self.lease_duration - self.renew_deadline) / 2)

    @property
    def attempt(self) -> float:
        """Seconds before the next copy of an unsettled acquire or renew goes to another member."""
        return max(0.25, self.renew_deadline / 8)

    @property
    def release_attempt(self) -> float:
        """Seconds before the next copies of an unsettled release go out, to all members; the second ones go sooner."""
        return self.exit_seconds / 8
