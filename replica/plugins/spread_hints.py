"""What may help a pod that topology spread refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.api.podspec import DO_NOT_SCHEDULE
from replica.plugins.spread_plan import eligibility, selected_by
from replica.queue.hints import Action, ClusterEvent, Hint, Registration, Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from replica.api.affinity import SpreadConstraint
    from replica.api.nodes import Node
    from replica.api.pods import Pod


class SpreadHints:
    """The queueing hints of PodTopologySpread.

    Args:
        plugin: Its name.
        constraints: Those that a pod is placed by.
    """

    def __init__(self, plugin: str, constraints: Callable[[Pod], Sequence[SpreadConstraint]]) -> None:
        self._plugin = plugin
        self._constraints = constraints

    def registrations(self) -> Sequence[Registration]:
        placed = ClusterEvent(
            Resource.ASSIGNED_POD, Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_OTHER
        )
        node = ClusterEvent(
            Resource.NODE, Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        )
        own = ClusterEvent(Resource.POD, Action.UPDATE_POD_LABEL)
        return (
            Registration(self._plugin, placed, self.after_pod),
            Registration(self._plugin, own, self.after_own),
            Registration(self._plugin, node, self.after_node),
        )

    def after_pod(self, pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
        """Another pod helps that is counted now and was not, or the other way: either can even out the skew."""
        if old is None and new is None:
            return Hint.QUEUE
        changed = any(self._counts(pod, each, old) != self._counts(pod, each, new) for each in self._required(pod))
        return Hint.QUEUE if changed else Hint.SKIP

    def after_own(self, pod: Pod, _old: Pod | None, new: Pod | None) -> Hint:
        """The pod's own labels changed."""
        return Hint.QUEUE if new is None or new.uid == pod.uid else Hint.SKIP

    def after_node(self, pod: Pod, old: Node | None, new: Node | None) -> Hint:
        """A node helps that is in other domains than it was, or in some for the first or last time."""
        if old is None and new is None:
            return Hint.QUEUE
        return Hint.QUEUE if self._place(pod, old) != self._place(pod, new) else Hint.SKIP

    def _required(self, pod: Pod) -> Sequence[SpreadConstraint]:
        return [each for each in self._constraints(pod) if each.when_unsatisfiable == DO_NOT_SCHEDULE]

    @staticmethod
    def _counts(pod: Pod, given: SpreadConstraint, other: Pod | None) -> bool:
        if other is None or other.deleting or other.namespace != pod.namespace:
            return False
        if not pod.spec.spread:
            return other.owner == pod.owner
        return selected_by(given, pod).holds(other.labels)

    def _place(self, pod: Pod, node: Node | None) -> Hashable:
        """The domains that a node is in, and where its pods count; None for one that lacks a label."""
        required = self._required(pod)
        keys = frozenset(each.topology_key for each in required)
        if node is None or not all(key in node.labels for key in keys):
            return None
        places = []
        for each in required:
            eligible, _ = eligibility(each, pod, keys)
            places.append((node.labels[each.topology_key], eligible is None or eligible(node)))
        return tuple(places)
