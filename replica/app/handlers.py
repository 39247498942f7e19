"""What the caches' news means for scheduling: pods with a node take room, pods without one queue, nodes give room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replica.queue.changes import node_change, pod_change
from replica.queue.hints import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, NODE_ADD, Resource

if TYPE_CHECKING:
    from collections.abc import Container

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.assume import AssumedPods
    from replica.cache.node_table import NodeTable
    from replica.queue.scheduling import SchedulingQueue


@dataclass(frozen=True, slots=True)
class PodHandler:
    """Pods that have a node, of whatever scheduler, count there; those that have none and name one of ours queue."""

    assumed: AssumedPods
    queue: SchedulingQueue
    schedulers: Container[str]

    def on_add(self, obj: Pod, *, initial: bool) -> None:
        del initial
        if obj.node:
            self._bound(obj)
        elif self._is_ours(obj):
            self.queue.add(obj)

    def on_update(self, old: Pod, new: Pod) -> None:
        if old.uid != new.uid:  # deleted and made again, seen as one change
            self.on_delete(old, stale=False)
            self.on_add(new, initial=False)
        elif new.node and not old.node:
            if self._is_ours(old):
                self.queue.delete(old.path)
            self._bound(new)
        elif new.node:
            self.assumed.observe(new)
            event = pod_change(old, new, Resource.ASSIGNED_POD)
            if event is not None:
                self.queue.move_all(event, old=old, new=new)
        elif self._is_ours(new):
            self.queue.update(old, new)

    def on_delete(self, obj: Pod, *, stale: bool) -> None:
        del stale
        self.queue.delete(obj.path)
        counted = obj.uid in self.assumed
        self.assumed.remove(obj.uid)
        if counted:
            self.queue.move_all(ASSIGNED_POD_DELETE, old=obj)

    def _bound(self, pod: Pod) -> None:
        self.assumed.observe(pod)
        self.queue.move_all(ASSIGNED_POD_ADD, new=pod)

    def _is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler in self.schedulers


@dataclass(frozen=True, slots=True)
class NodeHandler:
    """Nodes are rows of the table; a change that may help a pod moves it."""

    table: NodeTable
    queue: SchedulingQueue

    def on_add(self, obj: Node, *, initial: bool) -> None:
        del initial
        self.table.set_node(obj)
        self.queue.move_all(NODE_ADD, new=obj)

    def on_update(self, old: Node, new: Node) -> None:
        self.table.set_node(new)
        event = node_change(old, new)
        if event is not None:
            self.queue.move_all(event, old=old, new=new)

    def on_delete(self, obj: Node, *, stale: bool) -> None:
        del stale
        self.table.remove_node(obj.name)
