"""Whether pods let each other on their nodes, read plainly: topology spread, affinity and anti-affinity.

It shares nothing with the scheduler but the decoded objects, so that what it says of the scheduler is worth something.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from chaos.fit import admits, holds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chaos.objects import Stored
    from replica.api.affinity import PodTerm, SpreadConstraint
    from replica.api.podspec import PodSpec
    from replica.api.selectors import LabelSelector

NAME: Final = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A pod, as others see it.

    Attributes:
        node: Where it is, or "".
    """

    namespace: str
    labels: Mapping[str, str]
    spec: PodSpec
    node: str = ""
    deleting: bool = False

    @classmethod
    def of(cls, key: str, pod: Stored) -> Neighbour | None:
        """A stored pod under its key, such as `pods/default/a`; None for one that has ended."""
        if pod.spec is None or pod.finished:
            return None
        return cls(key.split("/")[1], pod.labels, pod.spec, pod.node, pod.deleting)

    def terms(self, field: str) -> Sequence[PodTerm]:
        """Required ones of `pod_affinity` or `pod_anti_affinity`."""
        given = getattr(self.spec.affinity, field) if self.spec.affinity is not None else None
        return given.required if given is not None else ()


class Neighbourhood:
    """All nodes and the pods on them.

    Args:
        namespaces: The labels of those that there are.
    """

    def __init__(
        self, nodes: Mapping[str, Stored], pods: Sequence[Neighbour], namespaces: Mapping[str, Mapping[str, str]]
    ) -> None:
        self._nodes = nodes
        self._pods = [(nodes[each.node].labels, each) for each in pods if each.node in nodes]
        self._namespaces = namespaces

    def refusals(self, pod: Neighbour) -> dict[str, str]:
        """Node -> why its neighbours, or those elsewhere, keep a pod off it."""
        hard = [each for each in pod.spec.spread if each.when_unsatisfiable == "DoNotSchedule"]
        full = [self._full(pod, each, hard) for each in hard]
        wanted = pod.terms("pod_affinity")
        near = self._near(pod, wanted)
        away = {
            (term.topology_key, labels[term.topology_key])
            for labels, other in self._pods
            for owner, one in ((pod, other), (other, pod))
            for term in owner.terms("pod_anti_affinity")
            if term.topology_key in labels and self._means(term, owner, one)
        }
        found = {}
        for name, node in self._nodes.items():
            at = set(node.labels.items())
            if any(each.topology_key not in node.labels for each in hard) or any(
                (each.topology_key, node.labels[each.topology_key]) in domains
                for each, domains in zip(hard, full, strict=True)
            ):
                found[name] = "topology spread"
            elif any(
                term.topology_key not in node.labels
                or (near is not None and (term.topology_key, node.labels[term.topology_key]) not in near)
                for term in wanted
            ):
                found[name] = "pod affinity"
            elif at & away:
                found[name] = "pod anti-affinity"
        return found

    def _full(self, pod: Neighbour, given: SpreadConstraint, hard: Sequence[SpreadConstraint]) -> set[tuple[str, str]]:
        """The domains that can't take one more."""
        key = given.topology_key
        there = {
            name: node.labels[key]
            for name, node in self._nodes.items()
            if all(each.topology_key in node.labels for each in hard)
            and admits(
                pod.spec,
                name,
                node,
                taints=given.node_taints_policy == "Honor",
                affinity=given.node_affinity_policy == "Honor",
            )
        }
        counts = Counter(
            there[other.node]
            for _, other in self._pods
            if other.node in there and not other.deleting and self._spread_with(pod, given, other)
        )
        domains = set(there.values())
        lowest = min((counts[each] for each in domains), default=0) if len(domains) >= (given.min_domains or 1) else 0
        most = given.max_skew + lowest - self._spread_with(pod, given, pod)
        every = {node.labels[key] for node in self._nodes.values() if key in node.labels}
        return {(key, each) for each in every if counts[each] > most}

    @staticmethod
    def _spread_with(pod: Neighbour, given: SpreadConstraint, other: Neighbour) -> bool:
        same = all(other.labels.get(key) == pod.labels[key] for key in given.match_label_keys if key in pod.labels)
        return same and other.namespace == pod.namespace and _selects(given.label_selector, other.labels)

    def _near(self, pod: Neighbour, wanted: Sequence[PodTerm]) -> set[tuple[str, str]] | None:
        """The domains of those that all terms mean; None where there is nobody and the pod may be the first."""
        found: set[tuple[str, str]] = set()
        for labels, other in self._pods if wanted else ():
            if all(self._means(term, pod, other) for term in wanted):
                found |= {
                    (term.topology_key, labels[term.topology_key]) for term in wanted if term.topology_key in labels
                }
        return None if not found and all(self._means(term, pod, pod) for term in wanted) else found

    def _means(self, term: PodTerm, owner: Neighbour, other: Neighbour) -> bool:
        reached = other.namespace in term.namespaces
        if term.namespace_selector is not None:
            labels = {**self._namespaces.get(other.namespace, {}), NAME: other.namespace}
            reached = reached or _selects(term.namespace_selector, labels)
        elif not term.namespaces:
            reached = other.namespace == owner.namespace
        own: Any = owner.labels
        return (
            reached
            and _selects(term.label_selector, other.labels)
            and all(other.labels.get(key) == own[key] for key in term.match_label_keys if key in own)
            and all(other.labels.get(key) != own[key] for key in term.mismatch_label_keys if key in own)
        )


def _selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    return selector is not None and all(holds(each, labels) for each in selector.requirements())
