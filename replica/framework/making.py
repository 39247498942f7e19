"""Makes the plugins that a profile names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockd.errors import ConfigError

if TYPE_CHECKING:
    from replica.framework.interface import Handle, Plugin
    from replica.framework.profile import Profile
    from replica.framework.registry import Registry


def plugins_of(profile: Profile, registry: Registry, handle: Handle) -> dict[str, Plugin]:
    """One instance of each plugin that the profile names, or every problem with them."""
    made: dict[str, Plugin] = {}
    problems: list[str] = []
    unused = sorted(set(profile.args) - profile.names())
    problems += [f"pluginConfig names {name!r}, which isn't enabled" for name in unused if name not in registry]
    for name in sorted(profile.names()):
        try:
            made[name] = registry.make(name, profile.args.get(name, {}), handle)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(tuple(f"profile {profile.scheduler_name!r}: {text}" for text in problems))
    return made
