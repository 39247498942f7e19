"""A pod as the scheduling queue sees it."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from replica.api.pods import Pod

if TYPE_CHECKING:
    from collections.abc import Callable


class QueuedPod(msgspec.Struct, frozen=True, gc=False):
    """A pod on its way through the queue, and what became of its attempts.

    Attributes:
        pod: Its newest state.
        priority: As resolved from its manifest or its priority class.
        queued_at: When it last came into the queue, on the queue's clock; equal priorities go by it.
        first_seen: When it first came into the queue; its scheduling latency counts from here.
        attempts: Scheduling cycles begun.
        refused_by: The plugins that refused it in its last cycle; none after an error.
        gated_by: The plugin that keeps it out of the active queue, or "".
        backoff_until: The moment before which it isn't tried again.
        parked_at: When it came into the unschedulable pool.
        flushed: It left that pool since its patience had ended, not since anything happened.
    """

    pod: Pod
    queued_at: float
    first_seen: float
    priority: int = 0
    attempts: int = 0
    refused_by: frozenset[str] = frozenset()
    gated_by: str = ""
    backoff_until: float = 0.0
    parked_at: float = 0.0
    flushed: bool = False

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return self.pod.path


key_of: Callable[[QueuedPod], str] = attrgetter("pod.path")
"""`QueuedPod.key`, for whoever asks it of thousands a second."""


def stated_priority(pod: Pod) -> int:
    """The priority that the manifest gives, else 0."""
    return pod.spec.priority or 0


def by_priority(queued: QueuedPod) -> tuple[int, float]:
    """PrioritySort: the higher priority first, then whoever waits longer."""
    return (-queued.priority, queued.queued_at)


def by_backoff(queued: QueuedPod) -> float:
    """Whose backoff ends first."""
    return queued.backoff_until
