"""The arguments of the plugins in the tree: fields, defaults and rules are kube-scheduler's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from component import strict
from replica.api.affinity import NodeAffinity, SpreadConstraint
from replica.api.names import label_key_problem
from replica.api.places import Place
from replica.api.podchecks import check_node_affinity, check_spread_constraint
from replica.api.podspec import SCHEDULE_ANYWAY
from replica.framework.arguments import Arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HIGHEST_SHAPE_SCORE: Final = 10
"""What a point of a shape may give at most; it counts ten times that."""


class ResourceSpec(msgspec.Struct, frozen=True, rename="camel"):
    """A resource that scores are made of; a weight of 0 stands for 1."""

    name: str
    weight: int = 1

    @property
    def weighs(self) -> int:
        return self.weight or 1


class UtilizationShapePoint(msgspec.Struct, frozen=True, rename="camel"):
    """At this utilization (0 to 100) a node gets this score (0 to 10); in between, what lies on the line."""

    utilization: int
    score: int


class RequestedToCapacityRatioParam(msgspec.Struct, frozen=True, rename="camel"):
    """A curve over the utilization that a node would have."""

    shape: tuple[UtilizationShapePoint, ...] = ()


CPU_AND_MEMORY: Final = (ResourceSpec("cpu"), ResourceSpec("memory"))


class ScoringStrategy(msgspec.Struct, frozen=True, rename="camel"):
    """How NodeResourcesFit scores a node."""

    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] = "LeastAllocated"
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from _resource_problems(self.resources, highest=100)
        if self.type == "RequestedToCapacityRatio" and self.requested_to_capacity_ratio is None:
            yield "requestedToCapacityRatio", "is required by the type RequestedToCapacityRatio"
        if self.requested_to_capacity_ratio is not None:
            yield from _shape_problems(self.requested_to_capacity_ratio.shape, "requestedToCapacityRatio.shape")


class CoschedulingArgs(Arguments, frozen=True, kw_only=True):
    """How many seconds a gang may take from its places to its bind, where its PodGroup says nothing."""

    permit_waiting_time_seconds: int = 60

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.permit_waiting_time_seconds < 1:
            yield "permitWaitingTimeSeconds", f"{self.permit_waiting_time_seconds} must be 1 or more"


class NodeResourcesFitArgs(Arguments, frozen=True, kw_only=True):
    """Which extended resources Filter leaves out (by name, or by what stands before the `/`), and how Score scores."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()

    def problems(self) -> Iterator[tuple[str, str]]:
        for index, name in enumerate(self.ignored_resources):
            if problem := label_key_problem(name):
                yield f"ignoredResources[{index}]", f"{name!r} {problem}"
        for index, group in enumerate(self.ignored_resource_groups):
            if "/" in group:
                yield f"ignoredResourceGroups[{index}]", f"{group!r} must not contain '/': it is what stands before it"
            elif problem := label_key_problem(group):
                yield f"ignoredResourceGroups[{index}]", f"{group!r} {problem}"


class NodeResourcesBalancedAllocationArgs(Arguments, frozen=True, kw_only=True):
    """The resources whose shares should be alike; none weighs more than another."""

    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from _resource_problems(self.resources, highest=1)


class NodeAffinityArgs(Arguments, frozen=True, kw_only=True):
    """A node affinity that every pod of the profile has beside its own."""

    added_affinity: NodeAffinity | None = None

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.added_affinity is not None:
            place = Place(strict.encode(self.added_affinity), "addedAffinity")
            check_node_affinity(place)
            yield from (("", problem) for problem in place.problems)


class InterPodAffinityArgs(Arguments, frozen=True, kw_only=True):
    """What required affinity of pods already placed weighs, and whether their preferred one is left out."""

    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from _outside("hardPodAffinityWeight", self.hard_pod_affinity_weight, 0, 100)


SYSTEM_CONSTRAINTS: Final = (
    SpreadConstraint(max_skew=3, topology_key="kubernetes.io/hostname", when_unsatisfiable=SCHEDULE_ANYWAY),
    SpreadConstraint(max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SCHEDULE_ANYWAY),
)
"""What pods without constraints have where `defaultingType` is System."""


class PodTopologySpreadArgs(Arguments, frozen=True, kw_only=True):
    """The constraints of pods that have none: the system's, or those of the list."""

    default_constraints: tuple[SpreadConstraint, ...] = ()
    defaulting_type: Literal["System", "List"] = "System"

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.defaulting_type == "System" and self.default_constraints:
            yield "defaultConstraints", "must be empty where defaultingType is System: set that to List"
        seen = set()
        for index, constraint in enumerate(self.default_constraints):
            at = f"defaultConstraints[{index}]"
            place = Place(strict.encode(constraint), at)
            check_spread_constraint(place)
            yield from (("", problem) for problem in place.problems)
            if constraint.label_selector is not None:
                yield f"{at}.labelSelector", "must not be given: the pods of a pod's own controller are counted"
            if constraint.match_label_keys:
                yield f"{at}.matchLabelKeys", "must not be given: there is no selector that they would go with"
            key = (constraint.topology_key, constraint.when_unsatisfiable)
            if key in seen:
                yield at, f"is another one for {' and '.join(key)}: one for each is possible"
            seen.add(key)


class DefaultPreemptionArgs(Arguments, frozen=True, kw_only=True):
    """How many nodes a preemption is tried on at least: a share of all, and a number."""

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100

    def problems(self) -> Iterator[tuple[str, str]]:
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        yield from _outside("minCandidateNodesPercentage", percentage, 0, 100)
        if absolute < 0:
            yield "minCandidateNodesAbsolute", f"{absolute} must not be negative"
        if percentage == absolute == 0:
            yield "", "minCandidateNodesPercentage and minCandidateNodesAbsolute must not both be 0"


CLASSES: Final[Mapping[str, type[Arguments]]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
}
"""Also those of plugins that are not built, since a file may hold them."""


def _outside(field: str, value: int, low: int, high: int) -> Iterator[tuple[str, str]]:
    if not low <= value <= high:
        yield field, f"{value} must be from {low} to {high}"


def _resource_problems(resources: tuple[ResourceSpec, ...], *, highest: int) -> Iterator[tuple[str, str]]:
    seen = set()
    for index, resource in enumerate(resources):
        at = f"resources[{index}]"
        if problem := label_key_problem(resource.name):
            yield f"{at}.name", f"{resource.name!r} {problem}"
        if resource.name in seen:
            yield f"{at}.name", f"{resource.name!r} is given twice"
        seen.add(resource.name)
        if not 0 <= resource.weight <= highest:
            allowed = "1" if highest == 1 else f"from 1 to {highest}"
            yield f"{at}.weight", f"{resource.weight} must be {allowed}"


def _shape_problems(shape: tuple[UtilizationShapePoint, ...], at: str) -> Iterator[tuple[str, str]]:
    if not shape:
        yield at, "must hold at least one point"
    before = -1
    for index, point in enumerate(shape):
        here = f"{at}[{index}]"
        yield from _outside(f"{here}.utilization", point.utilization, 0, 100)
        yield from _outside(f"{here}.score", point.score, 0, HIGHEST_SHAPE_SCORE)
        if index and point.utilization <= before:
            yield f"{here}.utilization", f"{point.utilization} must be more than the point before has ({before})"
        before = point.utilization
