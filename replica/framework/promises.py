"""Room that preemption promised to pods which wait for it: Filter counts it as taken by those who matter as much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from replica.api.pods import Pod
    from replica.api.priority import Classes
    from replica.cache.nodes import Nodes
    from replica.queue.nominator import Nominator

PRIORITIES: Final = 16
"""For how many of them it is kept up who matters as much."""


@dataclass(slots=True)
class _View:
    """What pods of one priority have to heed, as of a version of the nominator and of the nodes.

    Attributes:
        rows: Row of the table -> the pods of this priority or a higher one that were promised the node.
    """

    version: int
    nodes: int
    rows: dict[int, Sequence[Pod]]


class Promises:
    """What the nominator knows, as one pod has to heed it. Kept up by what changes, since there may be many of them."""

    def __init__(self, nominator: Nominator, priority: Callable[[Pod], int], classes: Classes) -> None:
        self._nominator = nominator
        self._priority = priority
        self._classes = classes
        self._class_version = classes.version
        self._views: dict[int, _View] = {}

    def heeded(self, pod: Pod, nodes: Nodes) -> Mapping[int, Sequence[Pod]]:
        """Row of the table -> the pods of equal or higher priority that were promised room there, but for this one.

        As long as nothing changed for a node, it is the same sequence each time. Good until the next call.
        """
        if not len(self._nominator):
            return {}
        found = self._view(self._priority(pod), nodes).rows
        own = self.own(pod, nodes)
        if own is None or own not in found:
            return found
        others = tuple(each for each in found[own] if each.path != pod.path)
        without = dict(found)
        if others:
            without[own] = others
        else:
            del without[own]
        return without

    def own(self, pod: Pod, nodes: Nodes) -> int | None:
        """The row where this pod was promised room."""
        name = self._nominator.node_of(pod.path) if len(self._nominator) else ""
        return nodes.index.get(name) if name else None

    def _view(self, priority: int, nodes: Nodes) -> _View:
        if self._class_version != self._classes.version or len(self._views) > PRIORITIES:
            self._class_version = self._classes.version
            self._views.clear()
        version, generation = self._nominator.version, int(nodes.node_generation.max())
        view = self._views.get(priority)
        changed = None if view is None or view.nodes != generation else self._nominator.since(view.version)
        if view is None or changed is None:
            view = self._views[priority] = _View(version, generation, {})
            changed = frozenset(self._nominator.all())
        for name in changed:
            if (row := nodes.index.get(name)) is None:
                continue
            heeded = tuple(each for each in self._nominator.promised(name) if self._priority(each) >= priority)
            if heeded:
                view.rows[row] = heeded
            else:
                view.rows.pop(row, None)
        view.version = version
        return view
