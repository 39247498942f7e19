"""Topology spread and pod affinity, read as plainly as can be: every node and pod looked at for each question."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.harness import plain
from tests.harness.neighbours import HOSTNAME, ZONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from tests.harness.neighbours import DrawnCrowd

SKEWED = "node(s) didn't match pod topology spread constraints"
NO_LABEL = f"{SKEWED} (missing required label)"
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"


def selects(selector: Any, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            return False
    for each in selector.match_expressions:
        has = labels.get(each.key)
        holds = {
            "In": has in each.values,
            "NotIn": has not in each.values,
            "Exists": has is not None,
            "DoesNotExist": has is None,
        }
        if not holds[each.operator]:
            return False
    return True


# --- PodTopologySpread


class Constraint:
    """A constraint of a pod's manifest, or a default one."""

    def __init__(self, given: Any, *, default: bool = False) -> None:
        self.given = given
        self.default = default
        self.key = given.topology_key

    def counts(self, pod: Pod, other: Pod) -> bool:
        """Is `other` one of those that are spread?"""
        if other.namespace != pod.namespace:
            return False
        if self.default:
            return other.owner == pod.owner
        if self.given.label_selector is None:
            return False
        same = all(other.labels.get(key) == pod.labels[key] for key in self.given.match_label_keys if key in pod.labels)
        return same and selects(self.given.label_selector, other.labels)

    def alive(self, pod: Pod, others: Iterable[Pod]) -> int:
        return sum(1 for other in others if not other.deleting and self.counts(pod, other))

    def honours(self, pod: Pod, node: Node) -> bool:
        """Do the pods on this node count?"""
        if self.given.node_affinity_policy == "Honor" and plain.node_affinity(pod, node, []):
            return False
        return self.given.node_taints_policy != "Honor" or not plain.taint_toleration(pod, node, [])


def constraints(pod: Pod, defaults: Iterable[Any]) -> list[Constraint]:
    if pod.spec.spread:
        return [Constraint(each) for each in pod.spec.spread]
    return [Constraint(each, default=True) for each in defaults] if pod.owner else []


def spread_refusals(pod: Pod, crowd: DrawnCrowd, defaults: Iterable[Any] = ()) -> dict[str, str]:
    """Node -> the reason, of those that are refused."""
    hard = [each for each in constraints(pod, defaults) if each.given.when_unsatisfiable == "DoNotSchedule"]
    found = {}
    for name, node in crowd.nodes.items():
        for each in hard:
            if each.key not in node.labels:
                found[name] = NO_LABEL
                break
            counts: Counter[str] = Counter()
            domains = set()
            for other_name, other in crowd.nodes.items():
                if all(one.key in other.labels for one in hard) and each.honours(pod, other):
                    domains.add(other.labels[each.key])
                    counts[other.labels[each.key]] += each.alive(pod, crowd.on(other_name))
            enough = len(domains) >= (each.given.min_domains or 1)
            lowest = min(counts[domain] for domain in domains) if enough and domains else 0
            if counts[node.labels[each.key]] + each.counts(pod, pod) - lowest > each.given.max_skew:
                found[name] = SKEWED
                break
    return found


def spread_scores(
    pod: Pod, crowd: DrawnCrowd, feasible: Mapping[str, Node], defaults: Iterable[Any] = (), *, by_system: bool = True
) -> dict[str, int] | None:
    """Node -> 0 to 100; None where nothing is asked for."""
    soft = [each for each in constraints(pod, defaults) if each.given.when_unsatisfiable == "ScheduleAnyway"]
    if not soft:
        return None
    strict = bool(pod.spec.spread) or not by_system
    scored = {
        name: node for name, node in feasible.items() if not strict or all(each.key in node.labels for each in soft)
    }
    raw = {}
    for name, node in scored.items():
        total = 0.0
        for each in soft:
            if each.key not in node.labels:
                continue
            if each.key == HOSTNAME:
                domains, count = len(scored), each.alive(pod, crowd.on(name))
            else:
                domains = len({other.labels.get(each.key) for other in scored.values()})
                count = sum(
                    each.alive(pod, crowd.on(other_name))
                    for other_name, other in crowd.nodes.items()
                    if other.labels.get(each.key) == node.labels[each.key]
                    and (not strict or all(one.key in other.labels for one in soft))
                    and each.honours(pod, other)
                )
            total += count * math.log(domains + 2) + each.given.max_skew - 1
        raw[name] = math.floor(total + 0.5)
    most, least = max(raw.values(), default=0), min(raw.values(), default=0)
    return {
        name: 0 if name not in raw else 100 * (most + least - raw[name]) // most if most else 100 for name in feasible
    }


# --- InterPodAffinity


def means(term: Any, owner: Pod, other: Pod, crowd: DrawnCrowd) -> bool:
    """Is `other` one of the pods that a term of `owner` is about?"""
    reached = other.namespace in term.namespaces
    if not term.namespaces and term.namespace_selector is None:
        reached = other.namespace == owner.namespace
    if term.namespace_selector is not None:
        known = crowd.namespaces.labels.get(other.namespace, {})
        reached |= selects(term.namespace_selector, {**known, "kubernetes.io/metadata.name": other.namespace})
    if not reached or term.label_selector is None or not selects(term.label_selector, other.labels):
        return False
    same = all(other.labels.get(key) == owner.labels[key] for key in term.match_label_keys if key in owner.labels)
    differs = all(other.labels.get(key) != owner.labels[key] for key in term.mismatch_label_keys if key in owner.labels)
    return same and differs


def said(pod: Pod, kind: str, how: str) -> tuple[Any, ...]:
    given = getattr(pod.spec.affinity, kind) if pod.spec.affinity else None
    return getattr(given, how) if given else ()


def together(key: str, one: Node, other: Node) -> bool:
    return key in one.labels and one.labels[key] == other.labels.get(key)


def affinity_refusals(pod: Pod, crowd: DrawnCrowd) -> dict[str, str]:
    """Node -> the reason, of those that are refused."""
    placed = [(crowd.nodes[where], other) for where, other in crowd.placed.values() if where in crowd.nodes]
    wanted = said(pod, "pod_affinity", "required")
    friends = [(at, other) for at, other in placed if all(means(term, pod, other, crowd) for term in wanted)]
    nobody = not any(term.topology_key in at.labels for at, _ in friends for term in wanted)
    first = nobody and all(means(term, pod, pod, crowd) for term in wanted)
    found = {}
    for name, node in crowd.nodes.items():
        if not all(
            term.topology_key in node.labels
            and (first or any(together(term.topology_key, at, node) for at, _ in friends))
            for term in wanted
        ):
            found[name] = AFFINITY
        elif any(
            together(term.topology_key, at, node) and means(term, pod, other, crowd)
            for at, other in placed
            for term in said(pod, "pod_anti_affinity", "required")
        ):
            found[name] = ANTI_AFFINITY
        elif any(
            together(term.topology_key, at, node) and means(term, other, pod, crowd)
            for at, other in placed
            for term in said(other, "pod_anti_affinity", "required")
        ):
            found[name] = EXISTING
    return found


def affinity_scores(
    pod: Pod, crowd: DrawnCrowd, feasible: Mapping[str, Node], *, hard: int = 1, ignore: bool = False
) -> dict[str, int]:
    """Node -> 0 to 100."""
    own = [
        (sign * each.weight, each.pod_affinity_term)
        for kind, sign in (("pod_affinity", 1), ("pod_anti_affinity", -1))
        for each in said(pod, kind, "preferred")
    ]
    raw = dict.fromkeys(feasible, 0)
    if ignore and not own:
        return raw
    for where, other in crowd.placed.values():
        if where not in crowd.nodes:
            continue
        at = crowd.nodes[where]
        terms = [(weight, term) for weight, term in own if means(term, pod, other, crowd)]
        theirs = [
            *((hard, term) for term in said(other, "pod_affinity", "required")),
            *((each.weight, each.pod_affinity_term) for each in said(other, "pod_affinity", "preferred")),
            *((-each.weight, each.pod_affinity_term) for each in said(other, "pod_anti_affinity", "preferred")),
        ]
        terms += [(weight, term) for weight, term in theirs if means(term, other, pod, crowd)]
        for name, node in feasible.items():
            raw[name] += sum(weight for weight, term in terms if together(term.topology_key, at, node))
    most, least = max(raw.values(), default=0), min(raw.values(), default=0)
    return {name: int(100 * ((score - least) / (most - least))) if most > least else 0 for name, score in raw.items()}


SYSTEM = ((HOSTNAME, 3), (ZONE, 5))
"""Topology key and maximal skew of the default constraints."""
