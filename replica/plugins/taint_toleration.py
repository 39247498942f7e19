"""TaintToleration: nodes with taints take pods that tolerate them; those that would rather not come last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from replica.api.taints import PREFER_NO_SCHEDULE
from replica.framework.interface import Refusal
from replica.framework.scoring import by_greatest
from replica.framework.status import Code
from replica.queue.hints import Action, ClusterEvent, Hint, Registration, Resource

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.api.taints import Taint, Toleration
    from replica.cache.nodes import Amounts, Flags, Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle

    Tolerations = tuple[Toleration, ...]

NAME = "TaintToleration"


class TaintToleration:
    """Filter by NoSchedule and NoExecute, Score by PreferNoSchedule: the fewer a pod doesn't tolerate, the better."""

    name = NAME
    by_node = True
    signs_spec = True

    def filter(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Flags | None:
        column, tolerations = nodes.facts.taints(), pod.spec.tolerations
        if not column.hard:
            return None
        refused = column.answers((NAME, "Filter", tolerations), lambda taints: _refuses(taints, tolerations))
        return nodes.cut(refused.take(column.ids)) == 0 if refused.any() else None

    def filter_row(self, _state: CycleState, pod: Pod, nodes: Nodes, row: int) -> bool:
        node = nodes.objects[row]
        return node is None or untolerated(node.taints, pod.spec.tolerations) is None

    def explain(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Sequence[Refusal]:
        column = nodes.facts.taints()
        ids = nodes.cut(column.ids)
        sets: dict[str, list[int]] = {}
        for number in np.unique(ids).tolist():
            taint = untolerated(column.sets[number], pod.spec.tolerations)
            if taint is not None:
                sets.setdefault(f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}", []).append(number)
        return [Refusal(reason, np.isin(ids, numbers), Code.UNRESOLVABLE) for reason, numbers in sets.items()]

    def score(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Amounts | None:
        """int64[size]: how many taints of the node the pod would rather not meet."""
        column, tolerations = nodes.facts.taints(), pod.spec.tolerations
        if not column.soft:
            return None
        unwelcome = column.answers((NAME, "Score", tolerations), lambda taints: _unwelcome(taints, tolerations))
        return nodes.cut(unwelcome.take(column.ids)) if unwelcome.any() else None

    def score_row(self, _state: CycleState, pod: Pod, nodes: Nodes, row: int) -> int:
        node = nodes.objects[row]
        return 0 if node is None or not node.taints else _unwelcome(node.taints, pod.spec.tolerations)

    def scale(self, scores: Amounts, greatest: int) -> Amounts:
        return by_greatest(scores, greatest, reverse=True)

    def signature(self, pod: Pod) -> Hashable:
        return pod.spec.tolerations

    def events_to_register(self) -> Sequence[Registration]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT)
        pod = ClusterEvent(Resource.POD, Action.UPDATE_POD_TOLERATIONS)
        return Registration(NAME, node, after_node), Registration(NAME, pod, after_pod)


def untolerated(taints: Sequence[Taint], tolerations: Tolerations) -> Taint | None:
    """The first taint that keeps a pod with these tolerations off."""
    for taint in taints:
        if taint.effect != PREFER_NO_SCHEDULE and not any(each.tolerates(taint) for each in tolerations):
            return taint
    return None


def after_node(pod: Pod, old: Node | None, new: Node | None) -> Hint:
    """Queueing hint: a node helps whose taints the pod tolerates, and didn't before."""
    if new is None:
        return Hint.QUEUE
    tolerations = pod.spec.tolerations
    was = old is not None and untolerated(old.taints, tolerations) is None
    return Hint.QUEUE if not was and untolerated(new.taints, tolerations) is None else Hint.SKIP


def after_pod(pod: Pod, _old: Pod | None, new: Pod | None) -> Hint:
    """Queueing hint: the pod's own tolerations changed."""
    return Hint.QUEUE if new is None or new.uid == pod.uid else Hint.SKIP


def make(_args: Mapping[str, Any], _handle: Handle) -> TaintToleration:
    return TaintToleration()


def _refuses(taints: Sequence[Taint], tolerations: Tolerations) -> int:
    return untolerated(taints, tolerations) is not None


def _unwelcome(taints: Sequence[Taint], tolerations: Tolerations) -> int:
    return sum(
        taint.effect == PREFER_NO_SCHEDULE and not any(each.tolerates(taint) for each in tolerations)
        for taint in taints
    )
