"""The places where a pod waits: active, backoff, unschedulable, gated. Pure: the queue has the lock and the clock."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from replica.queue.heap import Heap
from replica.queue.parking import Parking
from replica.queue.pod import by_backoff, key_of
from replica.queue.refusals import Refusals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from replica.api.pods import Pod
    from replica.queue.pod import QueuedPod

ACTIVE: Final = "active"
BACKOFF: Final = "backoff"
UNSCHEDULABLE: Final = "unschedulable"
GATED: Final = "gated"


def never_gated(_pod: Pod) -> str:
    """No plugin keeps any pod out of the active queue."""
    return ""


class Pools:
    """Each pod in exactly one place.

    Args:
        order: What active pods are compared by, the smallest first.
        gate: The plugin that keeps a pod out of the active queue, or "".
        patience: Seconds after which an unschedulable pod is tried again though nothing happened.
    """

    def __init__(self, order: Callable[[QueuedPod], Any], gate: Callable[[Pod], str], *, patience: float) -> None:
        self._gate = gate
        self._order = order
        self.active: Heap[QueuedPod] = Heap(key_of, order)
        self.backoff: Heap[QueuedPod] = Heap(key_of, by_backoff)
        self.unschedulable = Parking(patience)
        self.gated: dict[str, QueuedPod] = {}
        self._refusals = Refusals()

    def sizes(self) -> dict[str, int]:
        """Pods by place."""
        return {
            ACTIVE: len(self.active),
            BACKOFF: len(self.backoff),
            UNSCHEDULABLE: len(self.unschedulable),
            GATED: len(self.gated),
        }

    def refusals(self) -> dict[tuple[str, str], int]:
        """Pods that somebody refused or gates, by plugin and profile; one counts for each plugin."""
        return self._refusals.counts()

    def __iter__(self) -> Iterator[QueuedPod]:
        """All of them."""
        return chain(self.active, self.backoff, self.unschedulable, self.gated.values())

    def find(self, key: str) -> QueuedPod | None:
        return self.active.get(key) or self.backoff.get(key) or self.unschedulable.get(key) or self.gated.get(key)

    def resting(self, key: str) -> QueuedPod | None:
        """A pod in backoff or unschedulable."""
        return self.backoff.get(key) or self.unschedulable.get(key)

    def take(self, keys: Iterable[str]) -> list[QueuedPod]:
        """Take out those that are active, in backoff or unschedulable; in the order of active pods."""
        found = [queued for key in keys if (queued := self.active.get(key) or self.resting(key)) is not None]
        for queued in found:
            self.remove(queued.key)
        return sorted(found, key=self._order)

    def kept_by(self, keys: Iterable[str], plugin: str) -> list[QueuedPod]:
        """Take out those of a group that this plugin gates and doesn't any more, or that it alone refused.

        It gates all of a group or none, so that one of them is asked: a group grows by one pod at a time, and asking
        all of them each time would be much.
        """
        keys = tuple(keys)
        gated = [held for key in keys if (held := self.gated.get(key)) is not None and held.gated_by == plugin]
        if gated and self._gate(gated[0].pod) == plugin:
            gated = []
        refused = [
            parked
            for key in keys
            if (parked := self.unschedulable.get(key)) is not None and parked.refused_by == {plugin}
        ]
        for queued in (*gated, *refused):
            self.remove(queued.key)
        return gated + refused

    def remove(self, key: str) -> QueuedPod | None:
        """Take a pod out, wherever it is."""
        return self._left(
            self.active.delete(key)
            or self.backoff.delete(key)
            or self.unschedulable.pop(key)
            or self.gated.pop(key, None)
        )

    def next(self) -> QueuedPod | None:
        """Take out the active pod whose turn it is; None when there is none."""
        return self._left(self.active.pop())

    def place(self, queued: QueuedPod, now: float) -> tuple[str, str]:
        """Put a pod that is nowhere where it may go now.

        Returns:
            Where that is: gated, in backoff, or active; and the plugin that gates it, or "".
        """
        gate = self._gate(queued.pod)
        if gate != queued.gated_by:
            queued = replace(queued, gated_by=gate)
        self._refusals.enter(queued)
        if gate:
            self.gated[queued.key] = queued
            return GATED, gate
        if queued.backoff_until > now:
            self.backoff.add(queued)
            return BACKOFF, ""
        self.active.add(queued)
        return ACTIVE, ""

    def park(self, queued: QueuedPod, now: float) -> str:
        """Put a pod that is nowhere into the unschedulable pool."""
        self._refusals.enter(queued)
        self.unschedulable.put(replace(queued, parked_at=now))
        return UNSCHEDULABLE

    def refresh(self, queued: QueuedPod) -> None:
        """Replace a waiting pod by its newer state where it is."""
        self._left(self.find(queued.key))
        self._refusals.enter(queued)
        if queued.key in self.active:
            self.active.add(queued)
        elif queued.key in self.backoff:
            self.backoff.add(queued)
        elif queued.key in self.gated:
            self.gated[queued.key] = queued
        else:
            self.unschedulable.put(queued)

    def weigh(self, priority: Callable[[Pod], int]) -> list[QueuedPod]:
        """Give each pod the priority that it has now.

        Returns:
            Those that are unschedulable and got another one, which are taken out: others may have to make room for
            them now, or they need not leave it any.
        """
        stale = [queued for queued in self if queued.priority != priority(queued.pod)]
        fresh = [replace(queued, priority=priority(queued.pod)) for queued in stale]
        retried = [queued for queued in fresh if queued.key in self.unschedulable]
        for queued in fresh:
            self.refresh(queued)
        for queued in retried:
            self.remove(queued.key)
        return retried

    def rested(self, now: float) -> list[QueuedPod]:
        """Take out the pods whose backoff has ended."""
        ready = []
        while (first := self.backoff.peek()) is not None and first.backoff_until <= now:
            self.remove(first.key)
            ready.append(first)
        return ready

    def impatient(self, now: float) -> list[QueuedPod]:
        """Take out the unschedulable pods whose patience has ended."""
        found = self.unschedulable.impatient(now)
        for queued in found:
            self._left(queued)
        return found

    def next_moment(self) -> float:
        """When a backoff or a patience ends next; infinity when none does."""
        first = self.backoff.peek()
        return min(math.inf if first is None else first.backoff_until, self.unschedulable.next_moment())

    def _left(self, queued: QueuedPod | None) -> QueuedPod | None:
        """A pod was taken out."""
        if queued is not None:
            self._refusals.leave(queued)
        return queued
