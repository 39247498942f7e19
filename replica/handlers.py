"""What the informers tell the scheduler: pods with a node take room, pods without wait, nodes come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.queue.changes import node_change, pod_change
from replica.queue.hints import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    POD_GROUP_UPDATE,
    Action,
    ClusterEvent,
    Resource,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replica.api.groups import Namespace, PodGroup
    from replica.api.nodes import Node
    from replica.api.objects import Object
    from replica.api.pods import Pod
    from replica.assume import AssumedPods
    from replica.cache.members import Members
    from replica.cache.node_table import NodeTable
    from replica.framework.runtime import Runtime
    from replica.framework.waiting import WaitingPods
    from replica.preemption.book import BudgetBook
    from replica.queue.scheduling import SchedulingQueue

DELETED = "the pod was deleted while it waited"
"""Why a pod that is gone waits for no permission any more."""

NODE_DELETE = ClusterEvent(Resource.NODE, Action.DELETE, "NodeDelete")
NAMESPACE_ADD = ClusterEvent(Resource.NAMESPACE, Action.ADD, "NamespaceAdd")
NAMESPACE_UPDATE = ClusterEvent(Resource.NAMESPACE, Action.UPDATE_OTHER, "NamespaceUpdate")
NAMESPACE_DELETE = ClusterEvent(Resource.NAMESPACE, Action.DELETE, "NamespaceDelete")


def _nobody_minds(_uid: str) -> None:
    """A pod that is deleted is nobody's business."""


class Movers:
    """Moves pods that an event may help, unless no plugin would ever ask for such an event.

    A burst of binds is a burst of events, each of which would look through all unschedulable pods.

    Attributes:
        members: Which pods there are of each pod group: kept by the handler of pods.
    """

    def __init__(self, queue: SchedulingQueue, members: Members, profiles: Mapping[str, Runtime]) -> None:
        self._queue = queue
        self.members = members
        self._profiles = tuple(profiles.values())
        self._gates = tuple({name: None for runtime in self._profiles for name in runtime.grouping})
        self._wanted: dict[ClusterEvent, bool] = {}

    def move(self, event: ClusterEvent | None, *, old: Object | None = None, new: Object | None = None) -> None:
        if event is None:
            return
        wanted = self._wanted.get(event)
        if wanted is None:
            wanted = self._wanted[event] = any(runtime.wants(event) for runtime in self._profiles)
        if wanted:
            self._queue.move_all(event, old=old, new=new)

    def reconsider(self, group: str, pod: Pod | None = None) -> None:
        """A group or one of its pods changed: look anew at those of it that only wait for the others.

        Args:
            group: `namespace/name`; "" for none.
            pod: The one that changed, which has been looked at.
        """
        if not group:
            return
        paths = [path for path in self.members.paths(group) if pod is None or path != pod.path]
        for plugin in self._gates if paths else ():
            self._queue.reconsider(paths, plugin)

    def node_gone(self, name: str) -> None:
        """A node is gone: who was promised it looks for another, or has the promise taken back."""
        self._queue.activate(pod.path for pod in self._queue.nominator.promised(name))


class PodGroupHandler:
    """A handler of the pod groups' informer. The barrier must wait for it: gangs are told by them."""

    def __init__(self, movers: Movers) -> None:
        self._movers = movers

    def on_add(self, obj: PodGroup, *, initial: bool) -> None:  # noqa: ARG002  # the first list is no different
        self._movers.reconsider(f"{obj.namespace}/{obj.name}")

    def on_update(self, old: PodGroup, new: PodGroup) -> None:
        if (old.min_member, old.timeout) != (new.min_member, new.timeout):
            self._movers.reconsider(f"{new.namespace}/{new.name}")
            self._movers.move(POD_GROUP_UPDATE, old=old, new=new)

    def on_delete(self, obj: PodGroup, *, stale: bool) -> None:
        """Who waits for others of it is gated when it is tried next; who waits in a gate goes on doing so."""


class PodHandler:
    """A handler of the pods' informer. The barrier must wait for it: the books of who takes room are kept here.

    Args:
        gone: Told the uid of each pod that is deleted.
    """

    def __init__(
        self,
        queue: SchedulingQueue,
        assumed: AssumedPods,
        waiting: WaitingPods,
        profiles: Mapping[str, Runtime],
        movers: Movers,
        *,
        budgets: BudgetBook,
        gone: Callable[[str], object] = _nobody_minds,
    ) -> None:
        self._budgets = budgets
        self._gone = gone
        self._queue = queue
        self._members = movers.members
        self._waiting = waiting
        self._assumed = assumed
        self._profiles = profiles
        self._movers = movers

    def on_add(self, obj: Pod, *, initial: bool) -> None:  # noqa: ARG002  # the first list is no different
        self._budgets.see_pod(obj)
        if obj.node:
            self._placed(obj)
        elif self._mine(obj):
            group = self._members.see(obj)
            self._queue.add(obj)
            if group:
                self._movers.reconsider(group, obj)

    def on_update(self, old: Pod, new: Pod) -> None:
        if old.uid != new.uid or (old.node and not new.node):
            self.on_delete(old, stale=False)
            self.on_add(new, initial=False)
            return
        self._budgets.see_pod(new)
        if not new.node:
            if self._mine(new):
                if new.group != old.group:
                    self._members.forget(old)
                group = self._members.see(new)
                self._queue.update(old, new)
                self._movers.reconsider(group, new)
        elif not old.node:
            self._placed(new)
        else:
            if new.group != old.group:
                self._members.forget(old)
                self._members.see(new)
            self._assumed.observe(new)
            self._movers.move(pod_change(old, new, Resource.ASSIGNED_POD), old=old, new=new)

    def on_delete(self, obj: Pod, *, stale: bool) -> None:  # noqa: ARG002  # gone is gone
        # Whatever it looked like last, it may be waiting, assumed, or bound; a promise takes room as well.
        node = obj.node or self._assumed.place_of(obj.uid) or self._queue.nominator.node_of(obj.path)
        self._members.forget(obj)
        self._budgets.lose_pod(obj)
        self._queue.delete(obj.path)
        self._assumed.remove(obj.uid)
        self._waiting.reject(obj.uid, "", DELETED)
        self._gone(obj.uid)
        if node:
            self._movers.move(ASSIGNED_POD_DELETE, old=obj.on(node))

    def _placed(self, pod: Pod) -> None:
        # First out of the queue, then on its node: nobody finds it in neither and tries it again.
        self._queue.delete(pod.path)
        self._assumed.observe(pod)
        if group := self._members.see(pod):
            self._movers.reconsider(group, pod)
        self._movers.move(ASSIGNED_POD_ADD, new=pod)

    def _mine(self, pod: Pod) -> bool:
        return pod.spec.scheduler in self._profiles


class NamespaceHandler:
    """A handler of the namespaces' informer. The barrier must wait for it: selectors of namespaces look at labels."""

    def __init__(self, movers: Movers) -> None:
        self._movers = movers

    def on_add(self, obj: Namespace, *, initial: bool) -> None:  # noqa: ARG002  # the first list is no different
        self._movers.move(NAMESPACE_ADD, new=obj)

    def on_update(self, old: Namespace, new: Namespace) -> None:
        if old.labels != new.labels:
            self._movers.move(NAMESPACE_UPDATE, old=old, new=new)

    def on_delete(self, obj: Namespace, *, stale: bool) -> None:  # noqa: ARG002  # gone is gone
        self._movers.move(NAMESPACE_DELETE, old=obj)


class NodeHandler:
    """A handler of the nodes' informer. The barrier must wait for it."""

    def __init__(self, table: NodeTable, movers: Movers) -> None:
        self._table = table
        self._movers = movers

    def on_add(self, obj: Node, *, initial: bool) -> None:  # noqa: ARG002  # the first list is no different
        self._table.set_node(obj)
        self._movers.move(NODE_ADD, new=obj)

    def on_update(self, old: Node, new: Node) -> None:
        event = node_change(old, new)
        if event is not None or old.uid != new.uid:
            self._table.set_node(new)
        self._movers.move(event, old=old, new=new)

    def on_delete(self, obj: Node, *, stale: bool) -> None:  # noqa: ARG002  # gone is gone
        self._table.remove_node(obj.name)
        self._movers.move(NODE_DELETE, old=obj)
        self._movers.node_gone(obj.name)
