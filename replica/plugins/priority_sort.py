"""PrioritySort: the higher priority first, then whoever waits longer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replica.queue.pod import by_priority

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replica.framework.interface import Handle
    from replica.queue.pod import QueuedPod

NAME = "PrioritySort"


class PrioritySort:
    """QueueSort."""

    name = NAME

    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        return by_priority(queued)


def make(_args: Mapping[str, Any], _handle: Handle) -> PrioritySort:
    return PrioritySort()
