"""The rules of the default plugins, read as plainly as can be: one node, one pod, no columns, nothing remembered."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from tests.harness.drawn import DrawnCluster

MIB = 1 << 20
CAP = 1 << 56
"""What a node has beyond this counts as this."""

ORDER = ("cpu", "memory", "ephemeral-storage")
CORDON = ("node.kubernetes.io/unschedulable", "", "NoSchedule")


def has(node: Node, resource: str) -> int:
    return min(dict(node.allocatable).get(resource, 0), CAP)


def used(pods: list[Pod], resource: str) -> int:
    return min(sum(dict(each.spec.requests).get(resource, 0) for each in pods), 2 * CAP)


def wants(pod: Pod, resource: str) -> int:
    return dict(pod.spec.requests).get(resource, 0)


# --- filters: the reasons for which a node can't take the pod


def node_unschedulable(pod: Pod, node: Node, _pods: list[Pod]) -> list[str]:
    if not node.unschedulable or any(_tolerates(each, *CORDON) for each in pod.spec.tolerations):
        return []
    return ["node(s) were unschedulable"]


def taint_toleration(pod: Pod, node: Node, _pods: list[Pod]) -> list[str]:
    for taint in node.taints:
        if taint.effect in {"NoSchedule", "NoExecute"} and not any(
            _tolerates(each, taint.key, taint.value, taint.effect) for each in pod.spec.tolerations
        ):
            return [f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"]
    return []


def node_affinity(pod: Pod, node: Node, _pods: list[Pod]) -> list[str]:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    matches = all(node.labels.get(key) == value for key, value in pod.spec.node_selector)
    if affinity and affinity.required:
        matches = matches and any(_term_holds(term, node) for term in affinity.required.node_selector_terms)
    return [] if matches else ["node(s) didn't match Pod's node affinity/selector"]


def node_ports(pod: Pod, _node: Node, pods: list[Pod]) -> list[str]:
    for mine in pod.spec.host_ports:
        for theirs in (port for each in pods for port in each.spec.host_ports):
            same = (mine.port, mine.protocol) == (theirs.port, theirs.protocol)
            if same and (mine.ip == theirs.ip or "0.0.0.0" in (mine.ip, theirs.ip)):
                return ["node(s) didn't have free ports for the requested pod ports"]
    return []


def node_resources_fit(pod: Pod, node: Node, pods: list[Pod]) -> list[str]:
    reasons = ["Too many pods"] if len(pods) + 1 > has(node, "pods") else []
    others = sorted({name for name, _ in pod.spec.requests} - {*ORDER, "pods"})
    for resource in (*ORDER, *others):
        asked = wants(pod, resource)
        if asked and min(asked, 2 * CAP) > has(node, resource) - used(pods, resource):
            reasons.append(f"Insufficient {resource}")
    return reasons


# --- scores


def unwelcome_taints(pod: Pod, node: Node, _pods: list[Pod], _cluster: DrawnCluster) -> int:
    return sum(
        taint.effect == "PreferNoSchedule"
        and not any(_tolerates(each, taint.key, taint.value, taint.effect) for each in pod.spec.tolerations)
        for taint in node.taints
    )


def preferred_terms(pod: Pod, node: Node, _pods: list[Pod], _cluster: DrawnCluster) -> int:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    terms = affinity.preferred if affinity else ()
    return sum(each.weight for each in terms if _term_holds(each.preference, node))


def scored_use(pod: Pod, pods: list[Pod], resource: str) -> int:
    """What would be requested with the pod, as NodeResourcesFit counts it."""
    if resource in {"cpu", "memory"}:
        field = f"scoring_{resource}"
        return int(min(sum(getattr(each.spec, field) for each in pods), 2 * CAP) + getattr(pod.spec, field))
    return used(pods, resource) + wants(pod, resource)


def fit_score(
    one: Callable[[int, int], int], mean: Callable[[list[tuple[int, int]]], int], resources: dict[str, int]
) -> Callable[[Pod, Node, list[Pod], Any], int]:
    """A score made of those of single resources (requested, there) and their mean."""

    def score(pod: Pod, node: Node, pods: list[Pod], _cluster: Any) -> int:
        scores = []
        for resource, weight in resources.items():
            scalar = resource not in ORDER
            if has(node, resource) and not (scalar and not wants(pod, resource)):
                scores.append((one(scored_use(pod, pods, resource), has(node, resource)), weight))
        return mean(scores)

    return score


def floor_mean(scores: list[tuple[int, int]]) -> int:
    weights = sum(weight for _, weight in scores)
    return sum(score * weight for score, weight in scores) // weights if weights else 0


def rounded_mean(scores: list[tuple[int, int]]) -> int:
    kept = [(score, weight) for score, weight in scores if score > 0]
    weights = sum(weight for _, weight in kept)
    return math.floor(Fraction(sum(s * w for s, w in kept), weights) + Fraction(1, 2)) if weights else 0


def least(requested: int, there: int) -> int:
    return 0 if requested > there else (there - requested) * 100 // there


def most(requested: int, there: int) -> int:
    return min(requested, there) * 100 // there


def curve(shape: list[tuple[int, int]]) -> Callable[[int, int], int]:
    def score(requested: int, there: int) -> int:
        at = 100 if requested > there else requested * 100 // there
        if at <= shape[0][0]:
            return shape[0][1] * 10
        for (left, low), (right, high) in pairwise(shape):
            if at <= right:
                return low * 10 + math.trunc(Fraction((high - low) * 10 * (at - left), right - left))
        return shape[-1][1] * 10

    return score


def balanced(resources: tuple[str, ...]) -> Callable[[Pod, Node, list[Pod], Any], int]:
    def score(pod: Pod, node: Node, pods: list[Pod], _cluster: Any) -> int:
        shares = [
            min((used(pods, resource) + wants(pod, resource)) / has(node, resource), 1.0)
            for resource in resources
            if has(node, resource) and (resource in ORDER or wants(pod, resource))
        ]
        if len(shares) < 2:
            return 100
        if len(shares) == 2:
            return int((1 - abs(shares[0] - shares[1]) / 2) * 100)
        total = 0.0
        for share in shares:
            total += share
        mean, squares = total / len(shares), 0.0
        for share in shares:
            squares += (share - mean) * (share - mean)
        return int((1 - math.sqrt(squares / len(shares))) * 100)

    return score


def image_locality(pod: Pod, node: Node, _pods: list[Pod], cluster: DrawnCluster) -> int:
    total = 0
    for image in pod.spec.images:
        name = image if ":" in image.rsplit("/", 1)[-1] else f"{image}:latest"
        if name in node.images:
            spread = sum(name in each.images for each in cluster.nodes.values()) / len(cluster.nodes)
            total += int(node.images[name] * spread)
    most_bytes = 1000 * MIB * len(pod.spec.images)
    return (min(max(total, 23 * MIB), most_bytes) - 23 * MIB) * 100 // (most_bytes - 23 * MIB)


def by_greatest(scores: dict[str, int]) -> dict[str, int]:
    greatest = max(scores.values(), default=0)
    return {name: score * 100 // greatest if greatest else 0 for name, score in scores.items()}


def fewest(scores: dict[str, int]) -> dict[str, int]:
    return {name: 100 - score for name, score in by_greatest(scores).items()}


# --- all together

FILTERS = (node_unschedulable, taint_toleration, node_affinity, node_ports, node_resources_fit)


@dataclass(frozen=True)
class Verdict:
    """What becomes of a pod: the nodes that can take it with their scores, else the message."""

    scores: dict[str, int]
    message: str = ""

    @property
    def best(self) -> set[str]:
        return {name for name, score in self.scores.items() if score == max(self.scores.values())}


def schedule(pod: Pod, cluster: DrawnCluster) -> Verdict:
    """All default plugins in kube-scheduler's order and with its weights."""
    names = _only(pod)
    nodes = {name: node for name, node in cluster.nodes.items() if names is None or name in names}
    if names == set():
        return Verdict({}, f"0/{len(cluster.nodes)} nodes are available: pod affinity terms conflict.")
    counts: Counter[str] = Counter()
    if left_out := len(cluster.nodes) - len(nodes):
        counts["node(s) didn't satisfy plugin(s) [NodeAffinity]"] = left_out
    feasible = {}
    for name, node in nodes.items():
        for refuses in FILTERS:
            if reasons := refuses(pod, node, cluster.on(name)):
                counts.update(reasons)
                break
        else:
            feasible[name] = node
    if not feasible:
        told = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
        return Verdict({}, f"0/{len(cluster.nodes)} nodes are available: {told}.")
    totals = dict.fromkeys(feasible, 0)
    for weight, score, normalize, skips in _SCORES:
        if skips(pod):
            continue
        raw = {name: score(pod, node, cluster.on(name), cluster) for name, node in feasible.items()}
        for name, value in (normalize(raw) if normalize else raw).items():
            totals[name] += weight * value
    return Verdict(totals)


def _never(_pod: Pod) -> bool:
    return False


def _no_preference(pod: Pod) -> bool:
    return not (pod.spec.affinity and pod.spec.affinity.node_affinity and pod.spec.affinity.node_affinity.preferred)


def _asks_for_nothing(pod: Pod) -> bool:
    return not wants(pod, "cpu") and not wants(pod, "memory")


EVEN = {"cpu": 1, "memory": 1}
_SCORES: tuple[tuple[int, Any, Any, Any], ...] = (
    (3, unwelcome_taints, fewest, _never),
    (2, preferred_terms, by_greatest, _no_preference),
    (1, fit_score(least, floor_mean, EVEN), None, _never),
    (1, balanced(("cpu", "memory")), None, _asks_for_nothing),
    (1, image_locality, None, _never),
)


def _only(pod: Pod) -> set[str] | None:
    """The nodes that every required term names; None where one names none."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    if not affinity or not affinity.required or not affinity.required.node_selector_terms:
        return None
    found: set[str] = set()
    for term in affinity.required.node_selector_terms:
        named = [set(each.values) for each in term.match_fields if each.operator == "In"]
        if not named:
            return None
        found |= set.intersection(*named)
    return found


def _tolerates(toleration: Any, key: str, value: str, effect: str) -> bool:
    if toleration.effect not in {"", effect} or toleration.key not in {"", key}:
        return False
    return toleration.operator == "Exists" or toleration.value == value


def _term_holds(term: Any, node: Node) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    expressions = all(_holds(each, node.labels.get(each.key)) for each in term.match_expressions)
    return expressions and all((node.name in each.values) == (each.operator == "In") for each in term.match_fields)


def _holds(requirement: Any, value: str | None) -> bool:
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    try:
        number = int(value or "")
    except ValueError:
        return False
    if not -(2**63) <= number < 2**63:
        return False
    bound = int(requirement.values[0])
    return number > bound if requirement.operator == "Gt" else number < bound
