"""Pods that count on their node before etcd, and then the watch, have confirmed it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from replica.api.pods import Pod


class Table(Protocol):
    """Where pods are counted: `replica.cache.node_table.NodeTable`."""

    def add_pod(self, node: str, pod: Pod) -> bool:
        """Count a pod on a node; whether the node is known."""
        ...

    def remove_pod(self, node: str, uid: str) -> bool:
        """Stop counting it."""
        ...


class _Assumption(msgspec.Struct, gc=False):
    """`settled`: the revision of the reply that refused the bind; the watch decides once it has passed that."""

    node: str
    settled: int | None = None


class AssumedPods:
    """Every pod that takes room on a node: seen there by the watch, or assumed.

    An assumption ends in one of four ways: the watch shows the pod on a node (it counts there from then on), the watch
    shows it gone, its bind has definitely not been made (`forget`), or its bind was answered by something else than
    success (`settle`): then the pod may have been bound and changed since, so that the assumption stays until the cache
    has passed the revision of that answer, by when the watch has shown the pod on its node if it ever was.

    Thread-safe. Pods are told apart by uid: a pod of the same name is another pod.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._lock = threading.Lock()
        self._assumed: dict[str, _Assumption] = {}
        self._bound: dict[str, str] = {}
        self._settled = 0

    # --- what the scheduler says

    def assume(self, pod: Pod, node: str) -> bool:
        """Count a pod on a node ahead of its bind.

        Returns:
            False when it counts somewhere already, or the node is gone: nothing has changed then.
        """
        with self._lock:
            if pod.uid in self._assumed or pod.uid in self._bound:
                return False
            if not self._table.add_pod(node, pod):
                self._table.remove_pod(node, pod.uid)
                return False
            self._assumed[pod.uid] = _Assumption(node)
            return True

    def forget(self, uid: str) -> bool:
        """The bind was definitely not made, and never will be. False when the watch has decided already."""
        with self._lock:
            return self._drop(uid)

    def settle(self, uid: str, revision: int) -> None:
        """The bind did not succeed as of `revision`: let go once the cache is past that, or the watch decides."""
        with self._lock:
            if (assumption := self._assumed.get(uid)) is not None and assumption.settled is None:
                assumption.settled = revision
                self._settled += 1

    def advance(self, applied: int) -> tuple[str, ...]:
        """The cache has applied everything up to `applied`: let go of what was settled by then.

        Returns:
            The uids let go.
        """
        if not self._settled:
            return ()
        with self._lock:
            due = tuple(
                uid
                for uid, assumption in self._assumed.items()
                if assumption.settled is not None and assumption.settled <= applied
            )
            for uid in due:
                self._drop(uid)
            return due

    def clear(self) -> int:
        """A new term begins and the cache has passed its token: no bind of an earlier one is on its way any more.

        Returns:
            How many assumptions were let go.
        """
        with self._lock:
            uids = tuple(self._assumed)
            for uid in uids:
                self._drop(uid)
            return len(uids)

    # --- what the watch says

    def observe(self, pod: Pod) -> None:
        """The watch shows a pod on a node."""
        with self._lock:
            assumption = self._take(pod.uid) if self._assumed else None
            before = assumption.node if assumption is not None else self._bound.get(pod.uid)
            if before is not None and before != pod.node:
                self._table.remove_pod(before, pod.uid)
            self._bound[pod.uid] = pod.node
            self._table.add_pod(pod.node, pod)

    def remove(self, uid: str) -> None:
        """The watch shows a pod gone, or ended. Its bind can't be made any more: the object has another revision."""
        with self._lock:
            self._drop(uid)
            if (node := self._bound.pop(uid, None)) is not None:
                self._table.remove_pod(node, uid)

    # --- what others ask

    def __contains__(self, uid: object) -> bool:
        """Does the pod count on a node?"""
        return uid in self._assumed or uid in self._bound

    def is_assumed(self, uid: str) -> bool:
        """Does it count ahead of its bind?"""
        return uid in self._assumed

    def place_of(self, uid: str) -> str:
        """The node where it counts ahead of its bind, or ""."""
        found = self._assumed.get(uid)
        return "" if found is None else found.node

    def counts(self) -> tuple[int, int]:
        """How many pods the watch has shown on nodes, and how many are assumed."""
        return len(self._bound), len(self._assumed)

    # --- under the lock

    def _take(self, uid: str) -> _Assumption | None:
        assumption = self._assumed.pop(uid, None)
        if assumption is not None and assumption.settled is not None:
            self._settled -= 1
        return assumption

    def _drop(self, uid: str) -> bool:
        assumption = self._take(uid)
        if assumption is None:
            return False
        self._table.remove_pod(assumption.node, uid)
        return True
