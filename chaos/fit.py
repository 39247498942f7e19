"""Whether a pod fits a node, read plainly: one pod, one node, one rule after the other.

It shares nothing with the scheduler but the decoded objects, so that what it says of the scheduler is worth something.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chaos.objects import Stored
    from replica.api.podspec import HostPort, PodSpec
    from replica.api.selectors import NodeSelectorTerm, Requirement
    from replica.api.taints import Taint, Toleration

CORDON: Final = "node.kubernetes.io/unschedulable"
ANY_ADDRESS: Final = "0.0.0.0"


class Room:
    """What the pods that stand on nodes take of them.

    Args:
        pods: The pods as they stand.
    """

    def __init__(self, pods: Iterable[Stored]) -> None:
        self.used: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.ports: defaultdict[str, list[HostPort]] = defaultdict(list)
        for pod in pods:
            if pod.node and not pod.finished:
                self.used[pod.node].update(pod.requests)
                self.ports[pod.node].extend(pod.spec.host_ports if pod.spec is not None else ())


def refusals(spec: PodSpec, name: str, node: Stored, room: Room) -> tuple[str, ...]:
    """Why a pod can't go to a node, by the first rule that refuses it; nothing if it can.

    Args:
        name: The node's.
    """
    if spec.unsupported:
        return spec.unsupported
    if node.unschedulable and not _tolerated(spec.tolerations, CORDON, "", "NoSchedule"):
        return ("unschedulable",)
    for taint in _hard(node):
        if not _tolerates(spec.tolerations, taint):
            return (f"untolerated taint {taint}",)
    if not _wanted(spec, name, node):
        return ("node affinity/selector",)
    if any(_clash(port, taken) for port in spec.host_ports for taken in room.ports[name]):
        return ("host ports",)
    used = room.used[name]
    return tuple(
        f"Insufficient {resource}"
        for resource, asked in spec.requests
        if asked and used[resource] + asked > node.allocatable.get(resource, 0)
    )


def admits(spec: PodSpec, name: str, node: Stored, *, taints: bool, affinity: bool) -> bool:
    """Do a node's taints, and what the pod asks of nodes, let a pod go there? Each only if it is to be asked."""
    if taints and not all(_tolerates(spec.tolerations, each) for each in _hard(node)):
        return False
    return not affinity or _wanted(spec, name, node)


def _hard(node: Stored) -> list[Taint]:
    return [each for each in node.taints if each.effect in {"NoSchedule", "NoExecute"}]


def _wanted(spec: PodSpec, name: str, node: Stored) -> bool:
    selected = all(node.labels.get(key) == value for key, value in spec.node_selector)
    return selected and _attracted(spec, name, node)


def _tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    return _tolerated(tolerations, taint.key, taint.value, taint.effect)


def _tolerated(tolerations: Iterable[Toleration], key: str, value: str, effect: str) -> bool:
    for each in tolerations:
        exists = each.operator == "Exists"
        same_key = each.key == key or (exists and not each.key)
        if same_key and each.effect in {"", effect} and (exists or each.value == value):
            return True
    return False


def _attracted(spec: PodSpec, name: str, node: Stored) -> bool:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is None or affinity.required is None:
        return True
    return any(_term_holds(term, name, node.labels) for term in affinity.required.node_selector_terms)


def _term_holds(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": name}
    return all(holds(each, labels) for each in term.match_expressions) and all(
        holds(each, fields) for each in term.match_fields
    )


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Do labels meet an expression?"""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    try:
        number, bound = int(value or ""), int(requirement.values[0])
    except ValueError:
        return False
    return number > bound if requirement.operator == "Gt" else number < bound


def _clash(wanted: HostPort, taken: HostPort) -> bool:
    same = (wanted.protocol, wanted.port) == (taken.protocol, taken.port)
    return same and (wanted.ip == taken.ip or ANY_ADDRESS in {wanted.ip, taken.ip})
