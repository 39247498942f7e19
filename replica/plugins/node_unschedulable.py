"""NodeUnschedulable: cordoned nodes take no pods but those that tolerate it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from replica.api.taints import NO_SCHEDULE, UNSCHEDULABLE, Taint
from replica.framework.interface import Refusal
from replica.framework.status import Code
from replica.queue.hints import Action, ClusterEvent, Hint, Registration, Resource

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.api.podspec import PodSpec
    from replica.cache.nodes import Flags, Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle

NAME = "NodeUnschedulable"
REASON = "node(s) were unschedulable"

_TAINT = Taint(UNSCHEDULABLE, NO_SCHEDULE)


class NodeUnschedulable:
    """Filter."""

    name = NAME
    by_node = True
    signs_spec = True

    def filter(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Flags | None:
        return None if _tolerates(pod.spec) else ~nodes.unschedulable

    def filter_row(self, _state: CycleState, pod: Pod, nodes: Nodes, row: int) -> bool:
        return not nodes.unschedulable.item(row) or _tolerates(pod.spec)

    def explain(self, _state: CycleState, _pod: Pod, nodes: Nodes) -> Sequence[Refusal]:
        return (Refusal(REASON, nodes.unschedulable, Code.UNRESOLVABLE),)

    def signature(self, pod: Pod) -> Hashable:
        return _tolerates(pod.spec)

    def events_to_register(self) -> Sequence[Registration]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT)
        pod = ClusterEvent(Resource.POD, Action.UPDATE_POD_TOLERATIONS)
        return Registration(NAME, node, after_node), Registration(NAME, pod, after_pod)


def after_node(_pod: Pod, old: Node | None, new: Node | None) -> Hint:
    """Queueing hint: a node helps that is open, and wasn't before."""
    if new is None:
        return Hint.QUEUE
    was = old is not None and not old.unschedulable
    return Hint.QUEUE if not was and not new.unschedulable else Hint.SKIP


def after_pod(pod: Pod, _old: Pod | None, new: Pod | None) -> Hint:
    """Queueing hint: the pod itself tolerates cordoned nodes now."""
    if new is None:
        return Hint.QUEUE
    return Hint.QUEUE if new.uid == pod.uid and _tolerates(new.spec) else Hint.SKIP


def make(_args: Mapping[str, Any], _handle: Handle) -> NodeUnschedulable:
    return NodeUnschedulable()


@lru_cache(maxsize=4096)
def _tolerates(spec: PodSpec) -> bool:
    return any(toleration.tolerates(_TAINT) for toleration in spec.tolerations)
