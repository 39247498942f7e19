"""Pods that Permit holds until plugins allow them, one rejects them, or their time is up."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replica.framework.status import SUCCESS, Status, unschedulable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replica.api.pods import Pod

LONGEST_PERMIT_WAIT = 900.0
"""Seconds a pod may be held at most, whatever a plugin asks for."""


@dataclass(slots=True)
class WaitingPod:
    """A pod with a place that isn't bound yet.

    Attributes:
        node_name: Where it has its place.
        deadlines: Plugin -> when it gives up, for each plugin that hasn't allowed the pod yet.
    """

    pod: Pod
    node_name: str
    deadlines: dict[str, float] = field(default_factory=dict)


class WaitingPods:
    """The pods held by Permit, by uid. Thread-safe.

    Args:
        resolved: Called once for each pod, from whichever thread resolved it, with its place and the outcome: success,
            or a refusal in the name of the plugin that gave it.
    """

    def __init__(self, resolved: Callable[[WaitingPod, Status], None] | None = None) -> None:
        self._lock = threading.Lock()
        self._pods: dict[str, WaitingPod] = {}
        self.resolved = resolved or _ignore

    def __len__(self) -> int:
        return len(self._pods)

    def hold(self, pod: Pod, node_name: str, deadlines: Mapping[str, float]) -> None:
        """Hold a pod until every plugin named here has allowed it."""
        with self._lock:
            self._pods[pod.uid] = WaitingPod(pod, node_name, dict(deadlines))

    def all(self) -> tuple[WaitingPod, ...]:
        with self._lock:
            return tuple(self._pods.values())

    def allow(self, uid: str, plugin: str) -> bool:
        """One plugin no longer holds the pod. False when it wasn't waiting."""
        with self._lock:
            waiting = self._pods.get(uid)
            if waiting is None:
                return False
            waiting.deadlines.pop(plugin, None)
            if waiting.deadlines:
                return True
            del self._pods[uid]
        self.resolved(waiting, SUCCESS)
        return True

    def reject(self, uid: str, plugin: str, reason: str) -> bool:
        """Any plugin may reject a waiting pod. False when it wasn't waiting."""
        with self._lock:
            waiting = self._pods.pop(uid, None)
        if waiting is None:
            return False
        self.resolved(waiting, unschedulable(reason).by(plugin))
        return True

    def expire(self, now: float) -> float | None:
        """Reject the pods whose time is up.

        Returns:
            The next moment at which one will be, or None.
        """
        with self._lock:
            late = [
                (waiting.pod.uid, plugin)
                for waiting in self._pods.values()
                for plugin, deadline in waiting.deadlines.items()
                if deadline <= now
            ]
        for uid, plugin in late:
            self.reject(uid, plugin, f"timed out waiting on permit plugin {plugin}")
        with self._lock:
            return min((min(waiting.deadlines.values()) for waiting in self._pods.values()), default=None)

    def reject_all(self, reason: str) -> None:
        """The term ends: nobody waits any longer."""
        for waiting in self.all():
            self.reject(waiting.pod.uid, next(iter(waiting.deadlines), ""), reason)


def _ignore(_waiting: WaitingPod, _status: Status) -> None:
    """Nobody asked to be told."""
