"""What an update changed, as far as scheduling reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.queue.hints import Action, ClusterEvent, Resource

if TYPE_CHECKING:
    from replica.api.nodes import Node
    from replica.api.pods import Pod


def pod_change(old: Pod, new: Pod, resource: Resource = Resource.POD) -> ClusterEvent | None:
    """The cluster event of a pod's update; None when nothing changed that scheduling reads.

    A status that the scheduler itself wrote is nothing of that kind, or every failure would requeue its pod.

    Args:
        resource: `POD` for one that waits, `ASSIGNED_POD` for one that has a node.
    """
    action = Action(0)
    if old.labels != new.labels:
        action |= Action.UPDATE_POD_LABEL
    if old.deleting != new.deleting:
        action |= Action.UPDATE_OTHER
    before, after = old.spec, new.spec
    if before is not after and before != after:
        if before.gates != after.gates:
            action |= Action.UPDATE_POD_GATES
        if before.tolerations != after.tolerations:
            action |= Action.UPDATE_POD_TOLERATIONS
        if _shrank(dict(before.requests), dict(after.requests)):
            action |= Action.UPDATE_POD_SCALE_DOWN
        if not action:
            action = Action.UPDATE_OTHER
    if not action:
        return None
    return ClusterEvent(resource, action, "PodUpdate" if resource is Resource.POD else "AssignedPodUpdate")


def node_change(old: Node, new: Node) -> ClusterEvent | None:
    """The cluster event of a node's update; None when nothing changed that scheduling reads."""
    action = Action(0)
    if old.allocatable != new.allocatable:
        action |= Action.UPDATE_NODE_ALLOCATABLE
    if old.labels != new.labels:
        action |= Action.UPDATE_NODE_LABEL
    if old.taints != new.taints or old.unschedulable != new.unschedulable:
        action |= Action.UPDATE_NODE_TAINT
    if old.ready != new.ready:
        action |= Action.UPDATE_NODE_CONDITION
    if old.images != new.images or old.deleting != new.deleting:
        action |= Action.UPDATE_OTHER
    return ClusterEvent(Resource.NODE, action, "NodeUpdate") if action else None


def _shrank(before: dict[str, int], after: dict[str, int]) -> bool:
    return any(after.get(name, 0) < amount for name, amount in before.items())
