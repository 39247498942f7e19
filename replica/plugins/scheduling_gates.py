"""SchedulingGates: a pod with gates isn't tried before the last of them is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replica.framework.status import SUCCESS, Status, unresolvable
from replica.queue.hints import Action, ClusterEvent, Hint, Registration, Resource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replica.api.pods import Pod
    from replica.framework.interface import Handle

NAME = "SchedulingGates"


class SchedulingGates:
    """PreEnqueue."""

    name = NAME

    def pre_enqueue(self, pod: Pod) -> Status:
        gates = pod.spec.gates
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gates)}]") if gates else SUCCESS

    def events_to_register(self) -> Sequence[Registration]:
        return (Registration(NAME, ClusterEvent(Resource.POD, Action.UPDATE_POD_GATES), after_pod),)


def after_pod(pod: Pod, _old: Pod | None, new: Pod | None) -> Hint:
    """Queueing hint: the pod's own gates changed."""
    return Hint.QUEUE if new is None or new.uid == pod.uid else Hint.SKIP


def make(_args: Mapping[str, Any], _handle: Handle) -> SchedulingGates:
    return SchedulingGates()
