"""The nominator: pods that preemption promised room on a node."""

from __future__ import annotations

import threading
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replica.api.pods import Pod


REMEMBERED = 4096
"""Changes of which it is known what they were about."""


class Nominator:
    """Which pods are promised which node, until they are bound, deleted or promised another.

    A promise is in the pod's status as well, so that a successor knows of it; here it counts from the moment it is
    made. Thread-safe.

    Attributes:
        version: Grows with each change.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nodes: dict[str, str] = {}
        self._pods: dict[str, tuple[Pod, ...]] = {}
        self.version = 0
        self._log: deque[str] = deque(maxlen=REMEMBERED)

    def nominate(self, pod: Pod, node: str) -> None:
        """Promise `node` to a pod, instead of what it was promised before; "" takes a promise back."""
        with self._lock:
            self._remove(pod.path)
            if node:
                self._nodes[pod.path] = node
                self._put(node, (*self._pods.get(node, ()), pod))

    def see(self, old: Pod | None, new: Pod) -> None:
        """A waiting pod appeared or changed: what its status promises counts if that is news."""
        if old is not None and old.nominated == new.nominated:
            # A promise made here may not have come back in the status yet.
            with self._lock:
                node = self._nodes.get(new.path)
                if node is not None:
                    self._put(node, tuple(new if each.path == new.path else each for each in self._pods[node]))
            return
        self.nominate(new, new.nominated)

    def forget(self, key: str) -> None:
        """The pod is gone, or has a node."""
        if key not in self._nodes:
            return  # the usual case, for every pod that is bound
        with self._lock:
            self._remove(key)

    def node_of(self, key: str) -> str:
        """The node promised to a pod, or ""."""
        with self._lock:
            return self._nodes.get(key, "")

    def promised(self, node: str) -> tuple[Pod, ...]:
        """The pods that are promised `node`."""
        with self._lock:
            return self._pods.get(node, ())

    def all(self) -> dict[str, tuple[Pod, ...]]:
        """Node -> the pods that are promised it: the same tuple as long as they are the same."""
        with self._lock:
            return self._pods.copy()

    def since(self, version: int) -> frozenset[str] | None:
        """The nodes for which something changed after that version; None when that isn't known any more."""
        with self._lock:
            steps = self.version - version
            return None if steps > len(self._log) else frozenset(islice(reversed(self._log), steps))

    def __len__(self) -> int:
        """Promises in force."""
        return len(self._nodes)

    def _remove(self, key: str) -> None:
        node = self._nodes.pop(key, None)
        if node is not None:
            self._put(node, tuple(each for each in self._pods[node] if each.path != key))

    def _put(self, node: str, pods: tuple[Pod, ...]) -> None:
        if pods:
            self._pods[node] = pods
        else:
            del self._pods[node]
        self.version += 1
        self._log.append(node)
