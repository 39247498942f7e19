"""NodeAffinity: the labels and names of nodes that a pod requires, and those that it prefers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replica.framework.interface import PreFilterResult, Refusal
from replica.framework.scoring import by_greatest
from replica.framework.status import SKIP, SUCCESS, Code, unresolvable
from replica.plugins.node_terms import Preferred, Required, wish_of
from replica.queue.hints import Action, ClusterEvent, Hint, Registration, Resource

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.cache.nodes import Amounts, Flags, Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle
    from replica.framework.status import Status
    from replica.plugins.arguments import NodeAffinityArgs

NAME = "NodeAffinity"
REASON = "node(s) didn't match Pod's node affinity/selector"
REASON_ADDED = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT = "pod affinity terms conflict"

_ALL = PreFilterResult()
_NOTHING_REQUIRED = PreFilterResult(SKIP)


class NodeAffinity:
    """PreFilter, Filter, PreScore and Score, by what the pod says and by the affinity that the profile adds."""

    name = NAME
    by_node = True
    signs_spec = True

    def __init__(self, args: NodeAffinityArgs) -> None:
        self._added = Required((), args.added_affinity)
        self._added_preferred = Preferred(args.added_affinity)

    def pre_filter(self, _state: CycleState, pod: Pod, _nodes: Nodes) -> PreFilterResult:
        required = wish_of(pod.spec).required
        if required.anything:
            return _NOTHING_REQUIRED if self._added.anything else _ALL
        names = required.names()
        if names is None:
            return _ALL
        return PreFilterResult(node_names=names) if names else PreFilterResult(unresolvable(REASON_CONFLICT))

    def filter(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Flags:
        flags = wish_of(pod.spec).required.flags(nodes)
        return flags if self._added.anything else flags & self._added.flags(nodes)

    def filter_row(self, _state: CycleState, pod: Pod, nodes: Nodes, row: int) -> bool:
        node = nodes.objects[row]
        return node is None or self._matches(pod, node)

    def explain(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Sequence[Refusal]:
        unmatched = ~wish_of(pod.spec).required.flags(nodes)
        if self._added.anything:
            return (Refusal(REASON, unmatched, Code.UNRESOLVABLE),)
        added = self._added.flags(nodes)
        return (
            Refusal(REASON_ADDED, ~added, Code.UNRESOLVABLE),
            Refusal(REASON, unmatched & added, Code.UNRESOLVABLE),
        )

    def pre_score(self, _state: CycleState, pod: Pod, _nodes: Nodes, _feasible: Flags) -> Status:
        return SUCCESS if self._added_preferred or wish_of(pod.spec).preferred else SKIP

    def score(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Amounts | None:
        """int64[size]: the weights of the preferred terms that hold."""
        own, added = wish_of(pod.spec).preferred.weights(nodes), self._added_preferred.weights(nodes)
        if own is None or added is None:
            return added if own is None else own
        return np.add(own, added)

    def score_row(self, _state: CycleState, pod: Pod, nodes: Nodes, row: int) -> int:
        node = nodes.objects[row]
        return 0 if node is None else wish_of(pod.spec).preferred.weigh(node) + self._added_preferred.weigh(node)

    def scale(self, scores: Amounts, greatest: int) -> Amounts:
        return by_greatest(scores, greatest)

    def signature(self, pod: Pod) -> Hashable:
        return wish_of(pod.spec)

    def events_to_register(self) -> Sequence[Registration]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        return (Registration(NAME, node, self.after_node),)

    def after_node(self, pod: Pod, old: Node | None, new: Node | None) -> Hint:
        """Queueing hint: a node helps that matches, and didn't before."""
        if new is None:
            return Hint.QUEUE
        was = old is not None and self._matches(pod, old)
        return Hint.QUEUE if self._matches(pod, new) and not was else Hint.SKIP

    def _matches(self, pod: Pod, node: Node) -> bool:
        return self._added.holds(node) and wish_of(pod.spec).required.holds(node)


def make(args: NodeAffinityArgs, _handle: Handle) -> NodeAffinity:
    return NodeAffinity(args)
