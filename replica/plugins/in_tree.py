"""All plugins in the tree, and which of them are enabled where nothing is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.framework.profile import DEFAULT_SCHEDULER, Profile, Use
from replica.framework.registry import Registry
from replica.plugins import (
    default_binder,
    node_name,
    node_resources_fit,
    node_unschedulable,
    priority_sort,
    scheduling_gates,
    supported_features,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replica.framework.interface import Factory

FACTORIES: Mapping[str, Factory] = {
    scheduling_gates.NAME: scheduling_gates.make,
    priority_sort.NAME: priority_sort.make,
    supported_features.NAME: supported_features.make,
    node_unschedulable.NAME: node_unschedulable.make,
    node_name.NAME: node_name.make,
    node_resources_fit.NAME: node_resources_fit.make,
    default_binder.NAME: default_binder.make,
}

DEFAULTS: tuple[Use, ...] = tuple(Use(name) for name in FACTORIES)
"""The default multiPoint plugins, in their order."""


def registry() -> Registry:
    """The plugins in the tree; `discover()` adds those of other packages."""
    return Registry(FACTORIES)


def default_profile(scheduler_name: str = DEFAULT_SCHEDULER) -> Profile:
    """A profile with the defaults alone."""
    return Profile(scheduler_name, DEFAULTS)
