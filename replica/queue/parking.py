"""The unschedulable pool: pods that wait for something to happen, by who refused them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from replica.queue.pod import QueuedPod


class Parking:
    """Unschedulable pods in the order in which they were parked.

    They are grouped by the set of plugins that refused them, so that an event that concerns none of these plugins costs
    one look at each group, not one at each pod.

    Args:
        patience: Seconds after which a pod is tried again though nothing happened.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._pods: dict[str, QueuedPod] = {}
        self._groups: dict[frozenset[str], dict[str, None]] = {}

    def put(self, queued: QueuedPod) -> None:
        """Park a pod, or replace one that is parked where it stands."""
        known = self._pods.get(queued.key)
        if known is not None and known.refused_by != queued.refused_by:
            self._leave(known)
        self._pods[queued.key] = queued
        self._groups.setdefault(queued.refused_by, {})[queued.key] = None

    def get(self, key: str) -> QueuedPod | None:
        return self._pods.get(key)

    def pop(self, key: str) -> QueuedPod | None:
        """Take a pod out; None when it isn't here."""
        queued = self._pods.pop(key, None)
        if queued is not None:
            self._leave(queued)
        return queued

    def concerned(self, concerns: Callable[[frozenset[str]], bool]) -> list[QueuedPod]:
        """The pods that were refused by sets of plugins for which `concerns` is true."""
        return [self._pods[key] for refused_by, keys in self._groups.items() if concerns(refused_by) for key in keys]

    def impatient(self, now: float) -> list[QueuedPod]:
        """Take out the pods that have been here for too long."""
        stale = []
        for queued in self._pods.values():
            if queued.parked_at + self._patience > now:
                break
            stale.append(queued)
        for queued in stale:
            self.pop(queued.key)
        return stale

    def next_moment(self) -> float:
        """When the next pod's patience ends; infinity when there is none."""
        oldest = next(iter(self._pods.values()), None)
        return float("inf") if oldest is None else oldest.parked_at + self._patience

    def __contains__(self, key: object) -> bool:
        return key in self._pods

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    def _leave(self, queued: QueuedPod) -> None:
        keys = self._groups[queued.refused_by]
        del keys[queued.key]
        if not keys:
            del self._groups[queued.refused_by]
