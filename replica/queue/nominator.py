"""The nominator: pods that preemption promised room on a node."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replica.api.pods import Pod


class Nominator:
    """Which pods are promised which node, until they are bound, deleted or promised another.

    A promise is in the pod's status as well, so that a successor knows of it; here it counts from the moment it is
    made. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nodes: dict[str, str] = {}
        self._pods: dict[str, dict[str, Pod]] = {}

    def nominate(self, pod: Pod, node: str) -> None:
        """Promise `node` to a pod, instead of what it was promised before; "" takes a promise back."""
        with self._lock:
            self._remove(pod.path)
            if node:
                self._nodes[pod.path] = node
                self._pods.setdefault(node, {})[pod.path] = pod

    def see(self, old: Pod | None, new: Pod) -> None:
        """A waiting pod appeared or changed: what its status promises counts if that is news."""
        if old is not None and old.nominated == new.nominated:
            # A promise made here may not have come back in the status yet.
            with self._lock:
                node = self._nodes.get(new.path)
                if node is not None:
                    self._pods[node][new.path] = new
            return
        self.nominate(new, new.nominated)

    def forget(self, key: str) -> None:
        """The pod is gone, or has a node."""
        with self._lock:
            self._remove(key)

    def node_of(self, key: str) -> str:
        """The node promised to a pod, or ""."""
        with self._lock:
            return self._nodes.get(key, "")

    def promised(self, node: str) -> tuple[Pod, ...]:
        """The pods that are promised `node`."""
        with self._lock:
            return tuple(self._pods.get(node, {}).values())

    def all(self) -> dict[str, tuple[Pod, ...]]:
        """Node -> the pods that are promised it."""
        with self._lock:
            return {node: tuple(pods.values()) for node, pods in self._pods.items()}

    def __len__(self) -> int:
        """Promises in force."""
        return len(self._nodes)

    def _remove(self, key: str) -> None:
        node = self._nodes.pop(key, None)
        if node is not None:
            pods = self._pods[node]
            del pods[key]
            if not pods:
                del self._pods[node]
