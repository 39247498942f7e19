"""Nodes as columns: what a scheduling cycle reads, all nodes at once."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from replica.cache.arrays import Amounts, Flags

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.api.podspec import HostPort
    from replica.api.selectors import Requirement
    from replica.cache.census import Census
    from replica.cache.changes import Changes
    from replica.cache.facts import Facts
    from replica.cache.host_ports import HostPorts

__all__ = ["CPU", "EPHEMERAL", "LANES", "MEMORY", "PODS", "Amounts", "Flags", "Nodes"]

C = TypeVar("C", bound=np.generic)

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
        allocatable: int64[lane, row], at most `occupancy.LIMIT`.
        requested: int64[lane, row], what the row's pods (assumed ones too) request; lane PODS counts them.
        scoring: int64[CPU or MEMORY, row], what is requested of these two, a container without a request counting as
            kube-scheduler's 100m and 200Mi. For scores only.
        unschedulable: bool[row], cordoned.
        valid: bool[row].
        generation: int64[row], grows with each change of the row.
        node_generation: int64[row], grows with each change of the node itself (not of its pods): what is derived from a
            node's labels or taints is good until this moves.
        names: Node names by row ("" where not valid).
        index: Node name -> row of the whole table.
        objects: The nodes by row (None where not valid).
        pods: By row, the pods on the node by uid.
        count: Rows that are valid.
        total: How many nodes the whole table has.
        changes: Of the whole table, from one snapshot to the next.
        ports: The host ports taken, by row of the whole table.
        facts: Labels, taints and images, by row of the whole table; `cut` makes a column of these rows of them.
        census: The pods of the whole table, counted by what they are and where.
        part: The table's rows that these are; None for all of them.
    """

    __slots__ = (
        "allocatable",
        "census",
        "changes",
        "count",
        "facts",
        "generation",
        "index",
        "lanes",
        "names",
        "node_generation",
        "objects",
        "part",
        "pods",
        "ports",
        "requested",
        "scoring",
        "total",
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
        count: int,
        total: int,
        changes: Changes,
        ports: HostPorts,
        facts: Facts,
        census: Census,
        part: Sequence[int] | None = None,
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
        self.count = count
        self.total = total
        self.changes = changes
        self.ports = ports
        self.facts = facts
        self.census = census
        self.part = part

    @property
    def size(self) -> int:
        return len(self.names)

    def named(self, names: Iterable[str]) -> Flags:
        """bool[size]: the rows of these nodes; names of none are ignored."""
        return self._flags([row for name in names if (row := self.index.get(name)) is not None])

    def labelled(self, requirement: Requirement) -> Flags:
        """bool[size]: the nodes whose labels meet an expression; none does one that means nothing."""
        return self.cut(self.facts.label(requirement.key).match(requirement))

    def taken(self, ports: Iterable[HostPort]) -> Flags | None:
        """bool[size]: the nodes where one of these host ports isn't free; None where all are everywhere."""
        rows = self.ports.taken(ports)
        if not rows:
            return None
        return self._flags(rows)

    def cut(self, column: NDArray[C]) -> NDArray[C]:
        """These rows of a column over the whole table, which may be longer."""
        return column[: self.size] if self.part is None else column[list(self.part)]

    def over(self, requested: Amounts, pods: Sequence[Mapping[str, Pod]]) -> Nodes:
        """The same nodes with other requests and lists of pods, to try things with. The host ports are as they were."""
        made = copy(self)
        made.requested = requested
        made.pods = pods
        return made

    def take(self, rows: Sequence[int]) -> Nodes:
        """Some rows of the whole table as nodes of their own: to ask again about those that changed."""
        # One row, the usual case, shares its memory; several are copied.
        cut = slice(rows[0], rows[0] + 1) if len(rows) == 1 else list(rows)
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
            names=[self.names[row] for row in rows],
            index=self.index,
            objects=[self.objects[row] for row in rows],
            pods=[self.pods[row] for row in rows],
            count=int(np.count_nonzero(valid)),
            total=self.total,
            changes=self.changes,
            ports=self.ports,
            facts=self.facts,
            census=self.census,
            part=tuple(rows),
        )

    def _flags(self, rows: Collection[int]) -> Flags:
        """bool[size] from rows of the whole table."""
        if self.part is not None:
            return np.isin(self.part, list(rows))
        flags = np.zeros(self.size, np.bool_)
        flags[list(rows)] = True
        return flags
