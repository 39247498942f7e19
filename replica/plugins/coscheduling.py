"""Coscheduling: pods that name a PodGroup are bound when `minMember` of them have a place, and not before.

Here is said who belongs together and who may be tried at all; `replica.gangs` places them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from replica.api.kinds import POD_GROUP
from replica.cache.members import group_of
from replica.framework.gang import Gang
from replica.framework.status import SUCCESS, Status, unresolvable
from replica.queue.hints import POD_GROUP_UPDATE, Hint, Registration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.api.groups import PodGroup
    from replica.api.pods import Pod
    from replica.cache.members import Members
    from replica.framework.interface import Handle
    from replica.plugins.arguments import CoschedulingArgs

NAME = "Coscheduling"


class Groups(Protocol):
    """The PodGroups that there are: their lister."""

    def get(self, name: str, namespace: str = "") -> PodGroup | None: ...


class Coscheduling:
    """PreEnqueue, and the word on gangs."""

    name = NAME

    def __init__(self, groups: Groups | None, members: Members, waiting_time: float) -> None:
        self._groups = groups
        self._members = members
        self._waiting_time = waiting_time

    def gang(self, pod: Pod) -> Gang | None:
        group = self._group(pod)
        if group is None:
            return None
        timeout = self._waiting_time if group.timeout is None else group.timeout
        return Gang(group_of(pod), max(1, group.min_member), NAME, timeout)

    def pre_enqueue(self, pod: Pod) -> Status:
        if not pod.group:
            return SUCCESS
        gang = self.gang(pod)
        if gang is None:
            return unresolvable(f"pod group {group_of(pod)} not found")
        present = self._members.count(gang.key).present
        if present < gang.least:
            return unresolvable(f"pod group {gang.key}: {present} of {gang.least} pods are there")
        return SUCCESS

    def events_to_register(self) -> Sequence[Registration]:
        # Whoever is kept back by this plugin alone is looked at again by name, when something of its group changes.
        return (Registration(NAME, POD_GROUP_UPDATE, _of_group),)

    def _group(self, pod: Pod) -> PodGroup | None:
        if self._groups is None or not pod.group:
            return None
        return self._groups.get(pod.group, pod.namespace)


def _of_group(pod: Pod, _old: PodGroup | None, new: PodGroup | None) -> Hint:
    """Queueing hint: it was the pod's own group."""
    mine = new is None or (new.namespace, new.name) == (pod.namespace, pod.group)
    return Hint.QUEUE if mine else Hint.SKIP


def make(args: CoschedulingArgs, handle: Handle) -> Coscheduling:
    return Coscheduling(handle.listers.get(POD_GROUP.kind), handle.members, float(args.permit_waiting_time_seconds))
