"""Requests as values: every problem at once, by the names that the .proto has."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from component.durations import format_duration
from lockd.config import ElectionConfig, name_problems
from lockd.daemon.refusals import invalid
from lockd.errors import ConfigError
from lockd.ports import LockName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.duration_pb2 import Duration

    from lockd.v1 import lock_pb2 as pb

NANOSECONDS: Final = 1_000_000_000
"""In a second."""

NAMESPACE: Final = "kube-system"
"""Of locks that don't name theirs."""

LEASE: Final = 15.0
SHORTEST, LONGEST = 1.0, 3600.0
"""Lease durations that may be asked for. A shorter one is lost to a single slow commit."""

RENEW_SHARE: Final = 2 / 3
RETRY_SHARE: Final = 2 / 15
"""Parts of the lease duration that a client doesn't set: 15, 10 and 2 s."""

LEAST_SHARE: Final = 1 / 100
BRIEFEST: Final = 0.05
"""The shortest retry period: this part of the lease duration, and seconds. Each one may be a write to etcd."""

_WORDS: Final = {
    "lease duration": "lease_duration",
    "renew deadline": "renew_deadline",
    "retry period": "retry_period",
    "resource namespace": "lock.namespace",
    "resource name": "lock.name",
}


def lock_name(prefix: str, lock: pb.Lock) -> LockName:
    """The lock that is meant.

    Raises:
        Refusal: Its name can't be one.
    """
    name = LockName(prefix, lock.namespace or NAMESPACE, lock.name)
    if problems := _lock_problems(name):
        raise invalid(problems)
    return name


def _lock_problems(lock: LockName) -> tuple[str, ...]:
    return (*name_problems("lock.namespace", lock.namespace), *name_problems("lock.name", lock.name))


def seconds(duration: Duration) -> float:
    """A duration; NaN never comes out."""
    return float(duration.seconds) + duration.nanos / 1e9


def well_formed(duration: Duration) -> bool:
    """Is it what protobuf calls a duration: less than a second of nanoseconds, of the same sign as the seconds?"""
    return abs(duration.nanos) < NANOSECONDS and duration.seconds * duration.nanos >= 0


def given(message: object, *fields: str) -> dict[str, float]:
    """The durations that a message sets, in seconds by their names.

    Raises:
        Refusal: With each that is ill-formed.
    """
    durations: dict[str, Duration] = {
        field: getattr(message, field)
        for field in fields
        if message.HasField(field)  # type: ignore[attr-defined]  # a protobuf message, whichever
    }
    if bad := [field for field, duration in durations.items() if not well_formed(duration)]:
        raise invalid([f"{field} must have nanos below 1e9, of the same sign as seconds" for field in bad])
    return {field: seconds(duration) for field, duration in durations.items()}


def enter_config(prefix: str, enter: pb.Enter) -> tuple[LockName, ElectionConfig, float | None]:
    """The lock, the election and for how long to wait (None: for ever).

    Raises:
        Refusal: With every problem of the request, or with its ill-formed durations.
    """
    lock = LockName(prefix, enter.lock.namespace or NAMESPACE, enter.lock.name)
    identity = enter.identity or f"client_{uuid.uuid4()}"
    durations = given(enter, "lease_duration", "renew_deadline", "retry_period", "wait")
    wait = durations.pop("wait", None)
    problems = list(_lock_problems(lock))
    problems += name_problems("identity", identity)
    if wait is not None and wait <= 0:
        problems.append("wait must be above 0: leave it out to wait for ever")
    config, more = _election(lock, identity, durations)
    if problems or more or config is None:
        raise invalid([*problems, *more])
    return lock, config, wait


def resume_config(lock: LockName, identity: str, lease: float, durations: Mapping[str, float]) -> ElectionConfig:
    """The election that goes on with a term of this lease duration.

    Raises:
        Refusal: With every problem of the durations.
    """
    config, problems = _election(lock, identity, {**durations, "lease_duration": lease})
    if config is None:
        raise invalid(problems)
    return config


def _election(
    lock: LockName, identity: str, durations: Mapping[str, float]
) -> tuple[ElectionConfig | None, tuple[str, ...]]:
    lease = durations.get("lease_duration", LEASE)
    problems: tuple[str, ...] = ()
    if not SHORTEST <= lease <= LONGEST:
        bounds = f"from {format_duration(SHORTEST)} to {format_duration(LONGEST)}"
        problems = (f"lease_duration must be {bounds}, not {lease:g}s",)
        lease = LEASE
    retry, shortest = durations.get("retry_period", lease * RETRY_SHARE), max(BRIEFEST, lease * LEAST_SHARE)
    if 0 < round(retry, 9) < round(shortest, 9):  # to the nanosecond, which is what a client can ask for
        limit = f"{format_duration(shortest)} with a lease_duration of {format_duration(lease)}"
        problems += (f"retry_period must be at least {limit}, not {format_duration(retry)}",)
    try:
        config = ElectionConfig(
            identity=identity[:1] and "client",  # names are judged apart, by the names they have here
            lease_duration=lease,
            renew_deadline=durations.get("renew_deadline", lease * RENEW_SHARE),
            retry_period=retry,
            fenced=False,
        )
    except ConfigError as error:
        return None, (*problems, *map(_renamed, error.problems))
    if problems or _lock_problems(lock) or name_problems("identity", identity):
        return None, problems
    return (
        ElectionConfig(
            identity=identity,
            namespace=lock.namespace,
            name=lock.name,
            lease_duration=config.lease_duration,
            renew_deadline=config.renew_deadline,
            retry_period=config.retry_period,
            fenced=False,
        ),
        (),
    )


def _renamed(problem: str) -> str:
    for words, name in _WORDS.items():
        problem = problem.replace(words, name)
    return problem
