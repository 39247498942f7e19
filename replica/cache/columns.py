"""The arrays behind a table of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replica.cache.facts import Facts
from replica.cache.host_ports import HostPorts
from replica.cache.nodes import LANES, Nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.cache.census import Census
    from replica.cache.changes import Changes


class Columns:
    """One set of arrays with room for `capacity` rows. Rows count along the last index, so a lane is contiguous."""

    def __init__(self, lanes: int, capacity: int) -> None:
        self.allocatable = np.zeros((lanes, capacity), np.int64)
        self.requested = np.zeros((lanes, capacity), np.int64)
        self.scoring = np.zeros((2, capacity), np.int64)
        self.sums = (*self.requested[: len(LANES)], *self.scoring)
        """What the sums of a node's pods go to: views of the above."""
        self.unschedulable = np.zeros(capacity, np.bool_)
        self.valid = np.zeros(capacity, np.bool_)
        self.generation = np.zeros(capacity, np.int64)
        self.node_generation = np.zeros(capacity, np.int64)
        self.names: list[str] = []
        self.index: dict[str, int] = {}
        self.objects: list[Node | None] = []
        self.pods: list[dict[str, Pod]] = []
        self.ports = HostPorts()

    def grown(self, lanes: int, capacity: int) -> Columns:
        """A copy with room for more, which has the very same dictionaries of pods."""
        copy = Columns(lanes, capacity)
        old_lanes, old = self.allocatable.shape
        copy.allocatable[:old_lanes, :old] = self.allocatable
        copy.requested[:old_lanes, :old] = self.requested
        copy.scoring[:, :old] = self.scoring
        for name in ("unschedulable", "valid", "generation", "node_generation"):
            getattr(copy, name)[:old] = getattr(self, name)
        copy.names = list(self.names)
        copy.index = dict(self.index)
        copy.objects = list(self.objects)
        copy.pods = list(self.pods)
        copy.ports = self.ports.copy()
        return copy

    def append_row(self) -> None:
        """One more row, of no node yet."""
        self.names.append("")
        self.objects.append(None)
        self.pods.append({})

    def rename(self, row: int, name: str) -> None:
        """Give a row to another node, or to none ("")."""
        old = self.names[row]
        if old and self.index.get(old) == row:
            del self.index[old]
        self.names[row] = name
        if name:
            self.index[name] = row

    def copy_row(self, row: int, source: Columns) -> None:
        """Make a row what it is in `source`. What belongs to the node itself is copied only if that has changed."""
        self.requested[:, row] = source.requested[:, row]
        self.scoring[:, row] = source.scoring[:, row]
        self.generation[row] = source.generation[row]
        self.pods[row] = dict(source.pods[row])
        self.ports.put(row, source.ports.of(row))
        if self.node_generation[row] == source.node_generation[row]:
            return
        self.allocatable[:, row] = source.allocatable[:, row]
        self.unschedulable[row] = source.unschedulable[row]
        self.valid[row] = source.valid[row]
        self.node_generation[row] = source.node_generation[row]
        self.rename(row, source.names[row])
        self.objects[row] = source.objects[row]

    def view(self, lanes: Mapping[str, int], changes: Changes, node_changes: Changes, census: Census) -> Nodes:
        """All rows, for those who read.

        Args:
            changes: Of rows, from one snapshot to the next.
            node_changes: Of the nodes alone.
            census: Of the table; it looks at these rows from now on.
        """
        rows = len(self.names)
        generation, node_generation = self.generation[:rows], self.node_generation[:rows]
        census.look_at(
            objects=self.objects,
            pods=self.pods,
            generation=generation,
            node_generation=node_generation,
            changes=changes,
        )
        return Nodes(
            lanes=dict(lanes),
            allocatable=self.allocatable[:, :rows],
            requested=self.requested[:, :rows],
            scoring=self.scoring[:, :rows],
            unschedulable=self.unschedulable[:rows],
            valid=self.valid[:rows],
            generation=generation,
            node_generation=node_generation,
            names=self.names,
            index=self.index,
            objects=self.objects,
            pods=self.pods,
            count=0,
            total=0,
            changes=changes,
            ports=self.ports,
            facts=Facts(self.objects, self.allocatable[:, :rows], node_changes),
            census=census,
        )
