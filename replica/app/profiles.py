"""From a configuration to the framework's profiles, and back to a configuration in which all is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from lockd.errors import ConfigError
from replica.app import scheme
from replica.framework import arguments
from replica.framework.profile import PluginSet, Point, Profile, Use
from replica.plugins.arguments import CLASSES
from replica.plugins.in_tree import DEFAULTS, NOT_BUILT
from replica.plugins.node_resources_fit import NAME as FIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replica.app.scheme import Configuration
    from replica.framework.registry import Registry

POINTS = {point.value: point for point in Point}


def profiles_of(configuration: Configuration) -> tuple[Profile, ...]:
    """The profiles of a completed configuration."""
    return tuple(
        Profile(
            scheduler_name=profile.scheduler_name,
            defaults=DEFAULTS,
            multi_point=_set(profile.plugins.multi_point),
            points={
                point: said for name, point in POINTS.items() if (said := _set(profile.plugins.at(name))) != PluginSet()
            },
            args=_args(profile, configuration),
            percentage=configuration.percentage_of_nodes_to_score
            if profile.percentage_of_nodes_to_score is None
            else profile.percentage_of_nodes_to_score,
        )
        for profile in configuration.profiles
    )


def _args(profile: scheme.Profile, configuration: Configuration) -> dict[str, Mapping[str, Any]]:
    """What is said to each plugin. NodeResourcesFit also ignores what extenders see to in its stead."""
    found: dict[str, Mapping[str, Any]] = {
        entry.name: entry.args or {} for entry in profile.plugin_config if entry.name not in NOT_BUILT
    }
    seen_to = {
        resource.name
        for extender in configuration.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    }
    if seen_to:
        args = found.get(FIT, {})
        found[FIT] = {**args, "ignoredResources": sorted({*(args.get("ignoredResources") or ()), *seen_to})}
    return found


def problems_of(configuration: Configuration, registry: Registry) -> Iterator[str]:
    """What is wrong with the plugins that a configuration names and with what it says to them, each with its path."""
    for number, profile in enumerate(configuration.profiles):
        at = f"profiles[{number}]"
        for point in ("multiPoint", *POINTS):
            for index, use in enumerate(profile.plugins.at(point).enabled):
                if problem := _name_problem(use.name, registry):
                    yield f"{at}.plugins.{point}.enabled[{index}].name: {problem}"
        for index, entry in enumerate(profile.plugin_config):
            where = f"{at}.pluginConfig[{index}]"
            if entry.name not in NOT_BUILT and (problem := _name_problem(entry.name, registry)):
                yield f"{where}.name: {problem}"
                continue
            try:
                _complete_args(entry.name, entry.args or {}, registry)
            except ConfigError as error:
                yield from (f"{where}.args.{problem}" for problem in error.problems)


def warnings_of(configuration: Configuration) -> Iterator[str]:
    """What is said to plugins that are not there."""
    for number, profile in enumerate(configuration.profiles):
        for index, entry in enumerate(profile.plugin_config):
            if entry.name in NOT_BUILT:
                where = f"profiles[{number}].pluginConfig[{index}]"
                yield f"{where}: {entry.name} isn't built here: its args change nothing"


def spelled_out(configuration: Configuration, registry: Registry) -> Configuration:
    """The same with every plugin listed that is enabled by default, and every argument that wasn't given."""
    return replace(configuration, profiles=tuple(_spelled_out(profile, registry) for profile in configuration.profiles))


def _spelled_out(profile: scheme.Profile, registry: Registry) -> scheme.Profile:
    general = profile.plugins.multi_point
    merged = Profile(defaults=DEFAULTS, multi_point=_set(general)).general()
    enabled = tuple(scheme.PluginUse(name=use.name, weight=use.weight) for use in merged)
    plugins = replace(profile.plugins, multi_point=replace(general, enabled=enabled))
    named = {use.name for point in POINTS for use in plugins.at(point).enabled} | {use.name for use in merged}
    given: dict[str, Any] = {entry.name: entry.args or {} for entry in profile.plugin_config}
    config = [
        scheme.PluginConfig(name=name, args=args)
        for name in sorted(given.keys() | named)
        if (args := _complete_args(name, given.get(name, {}), registry)) or name in given
    ]
    return replace(profile, plugins=plugins, plugin_config=tuple(config))


def _complete_args(name: str, args: Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    """Arguments with the defaults of their class; as written where there is none.

    Raises:
        ConfigError: They can't be used.
    """
    kind = CLASSES.get(name) if name in NOT_BUILT else registry.arguments(name)
    return dict(args) if kind is None else arguments.encode(arguments.decode(args, kind))


def _name_problem(name: str, registry: Registry) -> str:
    if name in NOT_BUILT:
        return f"{name!r} isn't built here: take it out (it may be disabled)"
    try:
        registry.arguments(name)
    except ConfigError as error:
        return str(error)
    return ""


def _set(said: scheme.PluginSet) -> PluginSet:
    return PluginSet(
        tuple(Use(use.name, use.weight) for use in said.enabled), frozenset(use.name for use in said.disabled)
    )
