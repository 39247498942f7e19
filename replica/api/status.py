"""What the scheduler says in a pod's status: conditions, and the node that preemption promised it."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

POD_SCHEDULED: Final = "PodScheduled"
UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULING_GATED: Final = "SchedulingGated"
SCHEDULER_ERROR: Final = "SchedulerError"
DISRUPTION_TARGET: Final = "DisruptionTarget"
PREEMPTED: Final = "PreemptionByScheduler"
"""The reason of the condition `DisruptionTarget` of a pod that has to make room."""


class Condition(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """One condition. `status` is `True`, `False` or `Unknown`; the time is RFC 3339."""

    type: str
    status: str
    last_transition_time: str = ""
    reason: str = ""
    message: str = ""


class PodStatus(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """The scheduler's part of a pod's status."""

    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""

    @property
    def scheduled(self) -> Condition | None:
        """The PodScheduled condition."""
        return next((each for each in self.conditions if each.type == POD_SCHEDULED), None)

    @property
    def preempted(self) -> bool:
        """Did preemption mark the pod for deletion?"""
        return any((each.type, each.reason) == (DISRUPTION_TARGET, PREEMPTED) for each in self.conditions)

    def with_condition(self, condition: Condition) -> PodStatus:
        """The same with this condition in the place of the one of its type."""
        others = tuple(each for each in self.conditions if each.type != condition.type)
        return PodStatus((*others, condition), self.nominated_node_name)

    def encode(self) -> bytes:
        """As JSON; b"" when it says nothing."""
        return msgspec.json.encode(self) if self.conditions or self.nominated_node_name else b""


NO_STATUS: Final = PodStatus()
_DECODER: Final = msgspec.json.Decoder(PodStatus)


def read_status(raw: bytes) -> PodStatus:
    """The status in JSON, or nothing.

    Raises:
        msgspec.MsgspecError: Not JSON, or a field of another type.
    """
    return _DECODER.decode(raw) if raw else NO_STATUS


def unschedulable(message: str, *, at: str, reason: str = UNSCHEDULABLE, nominated: str = "") -> PodStatus:
    """Not scheduled, and why.

    Args:
        at: RFC 3339, when it became so.
    """
    return PodStatus((Condition(POD_SCHEDULED, "False", at, reason, message),), nominated)


def preempted(scheduler: str, *, at: str) -> Condition:
    """Marked for deletion, since a pod that matters more needs the room.

    Args:
        at: RFC 3339, when it became so.
    """
    message = f"{scheduler}: preempting to accommodate a higher priority pod"
    return Condition(DISRUPTION_TARGET, "True", at, PREEMPTED, message)


def scheduled(at: str) -> PodStatus:
    """Scheduled, and nothing promised any more."""
    return PodStatus((Condition(POD_SCHEDULED, "True", at),))


@lru_cache(maxsize=16)
def encoded_scheduled(at: str) -> bytes:
    """The same as JSON, made once for all that are bound in one second."""
    return scheduled(at).encode()
