"""NodePorts: the host ports that a pod asks for must be free on its node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from replica.cache.host_ports import overlap
from replica.framework.interface import PreFilterResult, Refusal
from replica.framework.status import SKIP
from replica.queue.hints import Action, ClusterEvent, Hint, Registration, Resource

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Flags, Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle

NAME = "NodePorts"
REASON = "node(s) didn't have free ports for the requested pod ports"

_WANTED = PreFilterResult()
_NONE_WANTED = PreFilterResult(SKIP)


class NodePorts:
    """PreFilter and Filter. Ports of one number and protocol meet if the addresses are equal or one is 0.0.0.0."""

    name = NAME
    signs_spec = True

    def pre_filter(self, _state: CycleState, pod: Pod, _nodes: Nodes) -> PreFilterResult:
        return _WANTED if pod.spec.host_ports else _NONE_WANTED

    def filter(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Flags | None:
        taken = nodes.taken(pod.spec.host_ports)
        return None if taken is None else ~taken

    def filter_row(self, _state: CycleState, pod: Pod, nodes: Nodes, row: int) -> bool:
        return not nodes.ports.taken_at(row, pod.spec.host_ports)

    def explain(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Sequence[Refusal]:
        taken = nodes.taken(pod.spec.host_ports)
        return (Refusal(REASON, np.zeros(nodes.size, np.bool_) if taken is None else taken),)

    def signature(self, pod: Pod) -> Hashable:
        return pod.spec.host_ports

    def events_to_register(self) -> Sequence[Registration]:
        freed = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
        node = ClusterEvent(Resource.NODE, Action.ADD)
        return Registration(NAME, freed, after_pod), Registration(NAME, node)


def after_pod(pod: Pod, old: Pod | None, _new: Pod | None) -> Hint:
    """Queueing hint: a pod that is gone helps if it had one of the ports."""
    if old is None:
        return Hint.QUEUE
    placed = old.node or old.nominated
    return Hint.QUEUE if placed and overlap(pod.spec.host_ports, old.spec.host_ports) else Hint.SKIP


def make(_args: Mapping[str, Any], _handle: Handle) -> NodePorts:
    return NodePorts()
