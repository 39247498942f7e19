"""All plugins in the tree, and which of them are enabled where nothing is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.framework.arguments import WithArguments
from replica.framework.profile import DEFAULT_SCHEDULER, Profile, Use
from replica.framework.registry import Registry
from replica.plugins import (
    arguments,
    coscheduling,
    default_binder,
    default_preemption,
    image_locality,
    inter_pod_affinity,
    node_affinity,
    node_name,
    node_ports,
    node_resources_balanced_allocation,
    node_resources_fit,
    node_unschedulable,
    pod_topology_spread,
    priority_sort,
    scheduling_gates,
    supported_features,
    taint_toleration,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replica.framework.interface import Factory

FACTORIES: Mapping[str, Factory] = {
    scheduling_gates.NAME: scheduling_gates.make,
    coscheduling.NAME: WithArguments(arguments.CoschedulingArgs, coscheduling.make),
    priority_sort.NAME: priority_sort.make,
    supported_features.NAME: supported_features.make,
    node_unschedulable.NAME: node_unschedulable.make,
    node_name.NAME: node_name.make,
    taint_toleration.NAME: taint_toleration.make,
    node_affinity.NAME: WithArguments(arguments.NodeAffinityArgs, node_affinity.make),
    node_ports.NAME: node_ports.make,
    node_resources_fit.NAME: WithArguments(arguments.NodeResourcesFitArgs, node_resources_fit.make),
    pod_topology_spread.NAME: WithArguments(arguments.PodTopologySpreadArgs, pod_topology_spread.make),
    inter_pod_affinity.NAME: WithArguments(arguments.InterPodAffinityArgs, inter_pod_affinity.make),
    default_preemption.NAME: WithArguments(arguments.DefaultPreemptionArgs, default_preemption.make),
    node_resources_balanced_allocation.NAME: WithArguments(
        arguments.NodeResourcesBalancedAllocationArgs, node_resources_balanced_allocation.make
    ),
    image_locality.NAME: image_locality.make,
    default_binder.NAME: default_binder.make,
}

DEFAULT_ORDER: tuple[Use, ...] = (
    Use("SchedulingGates"),
    Use("Coscheduling"),  # kube-scheduler's by a package of its own
    Use("PrioritySort"),
    Use("NodeUnschedulable"),
    Use("NodeName"),
    Use("TaintToleration", 3),
    Use("NodeAffinity", 2),
    Use("NodePorts"),
    Use("NodeResourcesFit", 1),
    Use("SupportedFeatures"),  # stands for those that follow and are not built
    Use("VolumeRestrictions"),
    Use("NodeVolumeLimits"),
    Use("VolumeBinding"),
    Use("VolumeZone"),
    Use("PodTopologySpread", 2),
    Use("InterPodAffinity", 2),
    Use("DynamicResources", 2),
    Use("DefaultPreemption"),
    Use("NodeResourcesBalancedAllocation", 1),
    Use("ImageLocality", 1),
    Use("DefaultBinder"),
    Use("NodeDeclaredFeatures"),
)
"""kube-scheduler's multiPoint defaults, in their order, and ours among them."""

DEFAULTS: tuple[Use, ...] = tuple(use for use in DEFAULT_ORDER if use.name in FACTORIES)
"""Those of them that are enabled where nothing is said: all that are built."""

NOT_BUILT: frozenset[str] = frozenset(use.name for use in DEFAULT_ORDER) - frozenset(FACTORIES)
"""Plugins of kube-scheduler that a configuration may disable here, but not enable."""


def registry() -> Registry:
    """The plugins in the tree; `discover()` adds those of other packages."""
    return Registry(FACTORIES)


def default_profile(scheduler_name: str = DEFAULT_SCHEDULER) -> Profile:
    """A profile with the defaults alone."""
    return Profile(scheduler_name, DEFAULTS)
