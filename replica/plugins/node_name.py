"""NodeName: a pod that names its node goes there or nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from replica.framework.interface import Refusal
from replica.framework.status import Code
from replica.queue.hints import Action, ClusterEvent, Registration, Resource

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Flags, Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle

NAME = "NodeName"
REASON = "node(s) didn't match the requested node name"


class NodeName:
    """Filter."""

    name = NAME
    by_node = True

    def filter(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Flags | None:
        return nodes.named((pod.node,)) if pod.node else None

    def filter_row(self, _state: CycleState, pod: Pod, nodes: Nodes, row: int) -> bool:
        return not pod.node or nodes.names[row] == pod.node

    def explain(self, _state: CycleState, _pod: Pod, nodes: Nodes) -> Sequence[Refusal]:
        return (Refusal(REASON, np.ones(nodes.size, np.bool_), Code.UNRESOLVABLE),)

    def events_to_register(self) -> Sequence[Registration]:
        return (Registration(NAME, ClusterEvent(Resource.NODE, Action.ADD)),)

    def signature(self, pod: Pod) -> Hashable:
        return pod.node


def make(_args: Mapping[str, Any], _handle: Handle) -> NodeName:
    return NodeName()
