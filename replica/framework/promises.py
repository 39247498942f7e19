"""Room that preemption promised to pods which wait for it: Filter counts it as taken by those who matter as much."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Nodes
    from replica.queue.nominator import Nominator


class Promises:
    """What the nominator knows, as one pod has to heed it."""

    def __init__(self, nominator: Nominator, priority: Callable[[Pod], int]) -> None:
        self._nominator = nominator
        self._priority = priority

    def heeded(self, pod: Pod, nodes: Nodes) -> Mapping[int, Sequence[Pod]]:
        """Row of the table -> the pods of equal or higher priority that were promised room there, but for this one."""
        if not len(self._nominator):
            return {}
        priority = self._priority(pod)
        found: dict[int, Sequence[Pod]] = {}
        for name, promised in self._nominator.all().items():
            row = nodes.index.get(name)
            others = [each for each in promised if each.path != pod.path and self._priority(each) >= priority]
            if row is not None and others:
                found[row] = others
        return found

    def own(self, pod: Pod, nodes: Nodes) -> int | None:
        """The row where this pod was promised room."""
        name = self._nominator.node_of(pod.path) if len(self._nominator) else ""
        return nodes.index.get(name) if name else None
