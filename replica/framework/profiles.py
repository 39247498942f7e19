"""All profiles of a replica at work, by `schedulerName`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockd.errors import ConfigError
from replica.framework.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replica.framework.extenders import Extenders
    from replica.framework.interface import Handle
    from replica.framework.profile import Profile
    from replica.framework.registry import Registry


def runtimes_of(
    profiles: Sequence[Profile], registry: Registry, handle: Handle, extenders: Extenders | None = None
) -> Mapping[str, Runtime]:
    """A runtime for each profile. They share one queue, so all must sort it alike.

    Raises:
        ConfigError: With every problem of all profiles.
    """
    runtimes: dict[str, Runtime] = {}
    problems: list[str] = []
    for profile in profiles:
        try:
            runtimes[profile.scheduler_name] = Runtime(profile, registry, handle, extenders)
        except ConfigError as error:
            problems += error.problems
    sorts = {name: runtime.queue_sort.name for name, runtime in runtimes.items()}
    args = {profile.scheduler_name: profile.args for profile in profiles}
    first = next(iter(runtimes), "")
    for name, sort in sorts.items():
        at = f"profile {name!r}: plugins.queueSort"
        if sort != sorts[first]:
            problems.append(f"{at}: {sort!r} must be {sorts[first]!r} as in {first!r}: all profiles share one queue")
        elif args[name].get(sort, {}) != args[first].get(sort, {}):
            problems.append(f"{at}: the args of {sort!r} must be those in {first!r}: all profiles share one queue")
    if problems:
        raise ConfigError(tuple(problems))
    return runtimes
