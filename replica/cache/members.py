"""Which pods there are of each pod group, and which of them have a node."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from replica.api.pods import GROUP_LABEL

if TYPE_CHECKING:
    from replica.api.pods import Pod


def group_of(pod: Pod) -> str:
    """`namespace/name` of the PodGroup that a pod names, or ""."""
    name = pod.group
    return f"{pod.namespace}/{name}" if name else ""


class Count(NamedTuple):
    """A group's members.

    Attributes:
        present: That may be scheduled or are bound already: not being deleted, and without scheduling gates.
        bound: Of these, that the watch has shown on a node.
    """

    present: int = 0
    bound: int = 0


class _Group:
    __slots__ = ("bound", "paths", "present")

    def __init__(self) -> None:
        self.paths: dict[str, str] = {}
        self.present: set[str] = set()
        self.bound: set[str] = set()


class Members:
    """The members of all groups, by what the informer of pods says. Thread-safe; a pod without a group costs a look."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: dict[str, _Group] = {}

    def see(self, pod: Pod) -> str:
        """A pod is there, or has changed.

        Returns:
            Its group's key, or "".
        """
        if GROUP_LABEL not in pod.labels or not (key := group_of(pod)):
            return ""
        with self._lock:
            group = self._groups.setdefault(key, _Group())
            group.paths[pod.uid] = pod.path
            _enter(group.bound, pod.uid, inside=bool(pod.node))
            _enter(group.present, pod.uid, inside=bool(pod.node) or not (pod.deleting or pod.spec.gates))
        return key

    def forget(self, pod: Pod) -> None:
        """A pod is gone, has ended, or has left the group that it is of here."""
        key = group_of(pod)
        if not key:
            return
        with self._lock:
            group = self._groups.get(key)
            if group is None:
                return
            group.paths.pop(pod.uid, None)
            group.present.discard(pod.uid)
            group.bound.discard(pod.uid)
            if not group.paths:
                del self._groups[key]

    def count(self, key: str) -> Count:
        with self._lock:
            group = self._groups.get(key)
            return Count() if group is None else Count(len(group.present), len(group.bound))

    def paths(self, key: str) -> tuple[str, ...]:
        """`namespace/name` of every member without a node."""
        with self._lock:
            group = self._groups.get(key)
            if group is None:
                return ()
            return tuple(path for uid, path in group.paths.items() if uid not in group.bound)

    def waiting(self) -> tuple[str, ...]:
        """The groups that have members without a node."""
        with self._lock:
            return tuple(key for key, group in self._groups.items() if len(group.bound) < len(group.paths))

    def begun(self) -> tuple[str, ...]:
        """The groups of which some members have a node and some have none."""
        with self._lock:
            return tuple(key for key, group in self._groups.items() if 0 < len(group.bound) < len(group.paths))


def _enter(names: set[str], name: str, *, inside: bool) -> None:
    if inside:
        names.add(name)
    else:
        names.discard(name)
