"""Nodes as columns: what a scheduling cycle reads, all nodes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replica.api.nodes import Node
    from replica.api.pods import Pod

Amounts = NDArray[np.int64]
Flags = NDArray[np.bool_]

CPU, MEMORY, EPHEMERAL, PODS = range(4)
"""Lanes (first index of `allocatable` and `requested`) that always exist; extended resources follow."""

LANES = ("cpu", "memory", "ephemeral-storage", "pods")
"""Their resource names. Units: millicpu, bytes, bytes, pods; extended resources in whole units."""


class Nodes:
    """A consistent view of the node table: row `i` of every column is the same node at the same moment.

    A view is never written by who reads it. Columns have `size` rows; a row that is not `valid` belongs to no node and
    holds leftovers.

    Attributes:
        lanes: Resource name -> lane. A resource that no node and no pod has ever named has none.
        allocatable: int64[lane, row], at most `node_table.LIMIT`.
        requested: int64[lane, row], what the row's pods (assumed ones too) request; lane PODS counts them.
        scoring: int64[CPU or MEMORY, row], what is requested of these two, a container without a request counting as
            kube-scheduler's 100m and 200Mi. For scores only.
        unschedulable: bool[row], cordoned.
        valid: bool[row].
        generation: int64[row], grows with each change of the row.
        node_generation: int64[row], grows with each change of the node itself (not of its pods): what is derived from a
            node's labels or taints is good until this moves.
        names: Node names by row ("" where not valid).
        index: Node name -> the table's row.
        objects: The nodes by row (None where not valid).
        pods: By row, the pods on the node by uid.
        first: The table's row of row 0 (above 0 in a window).
        count: Rows that are valid.
    """

    __slots__ = (
        "allocatable",
        "count",
        "first",
        "generation",
        "index",
        "lanes",
        "names",
        "node_generation",
        "objects",
        "pods",
        "requested",
        "scoring",
        "unschedulable",
        "valid",
    )

    def __init__(
        self,
        *,
        lanes: Mapping[str, int],
        allocatable: Amounts,
        requested: Amounts,
        scoring: Amounts,
        unschedulable: Flags,
        valid: Flags,
        generation: Amounts,
        node_generation: Amounts,
        names: Sequence[str],
        index: Mapping[str, int],
        objects: Sequence[Node | None],
        pods: Sequence[Mapping[str, Pod]],
        first: int,
        count: int,
    ) -> None:
        self.lanes = lanes
        self.allocatable = allocatable
        self.requested = requested
        self.scoring = scoring
        self.unschedulable = unschedulable
        self.valid = valid
        self.generation = generation
        self.node_generation = node_generation
        self.names = names
        self.index = index
        self.objects = objects
        self.pods = pods
        self.first = first
        self.count = count

    @property
    def size(self) -> int:
        return len(self.names)

    def named(self, names: Iterable[str]) -> Flags:
        """bool[size]: the rows of these nodes; names of none are ignored."""
        flags = np.zeros(self.size, np.bool_)
        for name in names:
            row = self.index.get(name)
            if row is not None and 0 <= row - self.first < self.size:
                flags[row - self.first] = True
        return flags

    def window(self, start: int, stop: int) -> Nodes:
        """The rows `start` to `stop` as nodes of their own, sharing memory: to ask again about a row that changed."""
        cut = slice(start, stop)
        valid = self.valid[cut]
        return Nodes(
            lanes=self.lanes,
            allocatable=self.allocatable[:, cut],
            requested=self.requested[:, cut],
            scoring=self.scoring[:, cut],
            unschedulable=self.unschedulable[cut],
            valid=valid,
            generation=self.generation[cut],
            node_generation=self.node_generation[cut],
            names=self.names[cut],
            index=self.index,
            objects=self.objects[cut],
            pods=self.pods[cut],
            first=self.first + start,
            count=int(np.count_nonzero(valid)),
        )
