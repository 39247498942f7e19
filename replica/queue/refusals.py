"""How many pods wait because of which plugin: kept as they come and go, so that whoever asks needs no look at them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replica.queue.pod import QueuedPod


class Refusals:
    """Counts the pods of all queues by plugin and profile: one for each plugin that refused or gates it.

    Not thread-safe: the queue has the lock.
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def enter(self, queued: QueuedPod) -> None:
        """A pod came into a queue."""
        if queued.refused_by or queued.gated_by:
            self._counts.update(_named(queued))

    def leave(self, queued: QueuedPod) -> None:
        """It left, as it was when it came in."""
        if queued.refused_by or queued.gated_by:
            self._counts.subtract(_named(queued))

    def counts(self) -> dict[tuple[str, str], int]:
        """As they are now; who has kept a pod back once stays, at 0."""
        return dict(self._counts)


def _named(queued: QueuedPod) -> Iterable[tuple[str, str]]:
    profile = queued.pod.spec.scheduler
    return [(plugin, profile) for plugin in {*queued.refused_by, queued.gated_by} if plugin]
