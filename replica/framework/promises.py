"""Room that preemption promised to pods which wait for it: Filter counts it as taken by those who matter as much."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from replica.api.pods import Pod
    from replica.api.priority import Classes
    from replica.cache.nodes import Amounts, Flags, Nodes
    from replica.queue.nominator import Nominator

PRIORITIES: Final = 16
"""For how many of them it is kept up who matters as much."""


class Promised:
    """The nodes that were promised to others, as one pod has to heed it.

    Attributes:
        rows: bool[size], the nodes that are.
        stamps: int64[size], another number whenever a node is promised to others than before; 0 where to nobody.
    """

    __slots__ = ("_by_row", "_own", "_own_pods", "rows", "stamps")

    def __init__(self, size: int) -> None:
        self.rows: Flags = np.zeros(size, np.bool_)
        self.stamps: Amounts = np.zeros(size, np.int64)
        self._by_row: dict[int, tuple[Pod, ...]] = {}
        self._own = -1
        self._own_pods: tuple[Pod, ...] = ()

    def on(self, row: int) -> Sequence[Pod]:
        """Who was promised a node."""
        return self._own_pods if row == self._own else self._by_row.get(row, ())

    def __bool__(self) -> bool:
        """Is any node promised to anybody?"""
        alone = not self._own_pods and self._own in self._by_row
        return len(self._by_row) > alone

    def put(self, row: int, pods: tuple[Pod, ...], stamp: int) -> None:
        """A node is promised to these from now on."""
        known = self._by_row.get(row, ())
        if len(known) == len(pods) and all(map(_same, known, pods)):
            return
        self.rows[row] = bool(pods)
        self.stamps[row] = stamp if pods else 0
        if pods:
            self._by_row[row] = pods
        else:
            del self._by_row[row]

    def besides(self, row: int, pods: tuple[Pod, ...], stamp: int) -> Promised:
        """The same, but that one node is promised to these. Good until the original changes."""
        made = Promised(0)
        made.rows, made.stamps = self.rows.copy(), self.stamps.copy()
        made.rows[row], made.stamps[row] = bool(pods), stamp if pods else 0
        made._by_row, made._own, made._own_pods = self._by_row, row, pods  # one of its own
        return made

    def grow(self, size: int) -> None:
        """There are so many rows now."""
        more = size - len(self.rows)
        self.rows = np.pad(self.rows, (0, more))
        self.stamps = np.pad(self.stamps, (0, more))

    @property
    def promised(self) -> Iterable[int]:
        """The rows that are promised to anybody."""
        return tuple(self._by_row)


@dataclass(slots=True)
class _View:
    """What pods of one priority have to heed, as of a version of the nominator and a generation of the nodes."""

    version: int
    nodes: int
    promised: Promised


class Promises:
    """What the nominator knows, as one pod has to heed it. Kept up by what changes, since there may be many of them."""

    def __init__(self, nominator: Nominator, priority: Callable[[Pod], int], classes: Classes) -> None:
        self._nominator = nominator
        self._priority = priority
        self._classes = classes
        self._class_version = classes.version
        self._views: dict[int, _View] = {}
        self._stamps = count(1)
        self._nothing = Promised(0)

    @property
    def any(self) -> bool:
        """Is there anything that a pod might have to heed, or was promised itself?"""
        return bool(len(self._nominator))

    def heeded(self, pod: Pod, nodes: Nodes) -> Promised:
        """What is promised to pods of equal or higher priority, but for this one. Good until the next call."""
        if not len(self._nominator):
            if len(self._nothing.rows) != nodes.size:
                self._nothing = Promised(nodes.size)
            return self._nothing
        found = self._view(self._priority(pod), nodes)
        own = self.own(pod, nodes)
        if own is None or not found.rows[own]:
            return found
        others = tuple(each for each in found.on(own) if each.path != pod.path)
        return found.besides(own, others, next(self._stamps))

    def own(self, pod: Pod, nodes: Nodes) -> int | None:
        """The row where this pod was promised room."""
        name = self._nominator.node_of(pod.path) if len(self._nominator) else ""
        return nodes.index.get(name) if name else None

    def _view(self, priority: int, nodes: Nodes) -> Promised:
        if self._class_version != self._classes.version or len(self._views) > PRIORITIES:
            self._class_version = self._classes.version
            self._views.clear()
        version, generation = self._nominator.version, int(nodes.node_generation.max())
        view = self._views.get(priority)
        if view is None or len(view.promised.rows) > nodes.size:
            view = self._views[priority] = _View(-1, generation, Promised(nodes.size))
        promised = view.promised
        if len(promised.rows) < nodes.size:
            promised.grow(nodes.size)
        rows: set[int] = set()
        if view.nodes != generation:  # rows of nodes that came, went or changed
            rows.update(np.flatnonzero(nodes.node_generation > view.nodes).tolist())
        changed = self._nominator.since(view.version) if view.version >= 0 else None
        if changed is None:
            rows.update(promised.promised)
            changed = frozenset(self._nominator.all())
        rows.update(row for name in changed if (row := nodes.index.get(name)) is not None)
        for row in rows:
            there = self._nominator.promised(nodes.names[row])
            heeded = tuple(each for each in there if self._priority(each) >= priority)
            promised.put(row, heeded, next(self._stamps))
        view.version, view.nodes = version, generation
        return promised


def _same(one: Pod, other: Pod) -> bool:
    return one is other
