"""What may help a pod that affinity refused, its own or that of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.plugins.affinity_plan import Terms, terms_of
from replica.queue.hints import Action, ClusterEvent, Hint, Registration, Resource

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from replica.api.groups import Namespace
    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.plugins.namespaces import NamespaceLabels


class AffinityHints:
    """The queueing hints of InterPodAffinity.

    Args:
        plugin: Its name.
        labels_of: A namespace's labels by its name.
    """

    def __init__(self, plugin: str, labels_of: NamespaceLabels) -> None:
        self._plugin = plugin
        self._labels_of = labels_of

    def registrations(self) -> Sequence[Registration]:
        placed = ClusterEvent(
            Resource.ASSIGNED_POD, Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_OTHER
        )
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL)
        own = ClusterEvent(Resource.POD, Action.UPDATE_POD_LABEL)
        namespace = ClusterEvent(Resource.NAMESPACE, Action.ALL)
        return (
            Registration(self._plugin, placed, self.after_pod),
            Registration(self._plugin, own, self.after_own),
            Registration(self._plugin, node, self.after_node),
            Registration(self._plugin, namespace, self.after_namespace),
        )

    def after_pod(self, pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
        """Another pod helps that is wanted near now, or one that kept this one off and does no more.

        One fewer that is wanted near helps, too, if the pod means itself: it may then be the first.
        """
        terms = terms_of(pod)
        if old is None and new is None:
            return Hint.QUEUE
        wanted_before, wanted = self._wanted(terms, old), self._wanted(terms, new)
        if wanted and not wanted_before:
            return Hint.QUEUE
        if wanted_before and not wanted and terms.accepts(pod, self._labels_of):
            return Hint.QUEUE
        return Hint.QUEUE if old is not None and self._freed(pod, terms, old, new) else Hint.SKIP

    def after_own(self, pod: Pod, _old: Pod | None, new: Pod | None) -> Hint:
        """The pod's own labels changed."""
        return Hint.QUEUE if new is None or new.uid == pod.uid else Hint.SKIP

    def after_node(self, pod: Pod, old: Node | None, new: Node | None) -> Hint:
        """A node helps if it comes, or is elsewhere than it was; one that goes, if it took along who was wanted near.

        Any label may be one by which another pod keeps this one off, so that no change of one is beside the point.
        """
        terms = terms_of(pod)
        if new is None:
            return Hint.QUEUE if terms.affinity and terms.accepts(pod, self._labels_of) else Hint.SKIP
        if old is not None:
            return Hint.QUEUE if old.labels != new.labels else Hint.SKIP
        return Hint.QUEUE if all(term.key in new.labels for term in terms.affinity) else Hint.SKIP

    def after_namespace(self, _pod: Pod, old: Namespace | None, new: Namespace | None) -> Hint:
        """Another namespace's labels may be those of a selector: of this pod's, or of others' about this pod."""
        return Hint.SKIP if old is not None and new is not None and old.labels == new.labels else Hint.QUEUE

    def _wanted(self, terms: Terms, other: Pod | None) -> bool:
        return other is not None and bool(terms.affinity) and terms.accepts(other, self._labels_of)

    def _freed(self, pod: Pod, terms: Terms, old: Pod, new: Pod | None) -> bool:
        """Did a pod keep this one off, by what either says, for more reasons than it does now?"""
        before = self._shunned(pod, terms, old)
        return any(before) and (new is None or before != self._shunned(pod, terms, new))

    def _shunned(self, pod: Pod, terms: Terms, other: Pod) -> tuple[Counter[str], Counter[str]]:
        return terms.shuns(other, self._labels_of), terms_of(other).shuns(pod, self._labels_of)
