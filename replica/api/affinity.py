"""What pods say about the nodes and the neighbours they want, as in their manifests."""

from __future__ import annotations

import msgspec

from replica.api.selectors import LabelSelector, NodeSelector, NodeSelectorTerm


class PreferredNodes(msgspec.Struct, frozen=True, gc=False):
    """A term that adds `weight` (1 to 100) to the nodes it matches; an empty one matches none."""

    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(msgspec.Struct, frozen=True, gc=False):
    """Which nodes a pod needs and prefers."""

    required: NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: tuple[PreferredNodes, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class PodTerm(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Pods that match, where the node's label `topology_key` has the same value.

    Looked for in `namespaces` and in those that `namespace_selector` matches; where neither is given, in the pod's own.
    """

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class PreferredPods(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A term with a weight, 1 to 100."""

    weight: int
    pod_affinity_term: PodTerm


class PodAffinity(msgspec.Struct, frozen=True, gc=False):
    """Which pods a pod needs or prefers near it (or, as its anti-affinity, away from it)."""

    required: tuple[PodTerm, ...] = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=())
    preferred: tuple[PreferredPods, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class Affinity(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A pod's `spec.affinity`."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class SpreadConstraint(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One of a pod's `spec.topologySpreadConstraints`."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()
