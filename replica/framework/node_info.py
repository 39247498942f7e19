"""One node, for plugins that look at one node at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.cache.nodes import Nodes


class NodeInfo:
    """A row of the node table. Good for the call it was made for, not longer.

    Attributes:
        nodes: The view it is a row of.
        row: Which.
    """

    __slots__ = ("nodes", "row")

    def __init__(self, nodes: Nodes, row: int) -> None:
        self.nodes = nodes
        self.row = row

    @property
    def name(self) -> str:
        return self.nodes.names[self.row]

    @property
    def node(self) -> Node:
        found = self.nodes.objects[self.row]
        if found is None:
            raise LookupError(f"row {self.row} belongs to no node")
        return found

    @property
    def pods(self) -> Mapping[str, Pod]:
        """The pods on the node by uid, assumed ones too."""
        return self.nodes.pods[self.row]

    def allocatable(self, resource: str) -> int:
        """What the node offers of a resource: millicpu, bytes, or whole units; 0 of what it doesn't have."""
        lane = self.nodes.lanes.get(resource)
        return 0 if lane is None else int(self.nodes.allocatable[lane, self.row])

    def requested(self, resource: str) -> int:
        """What its pods request of a resource, in the same units; of `pods`, their number."""
        lane = self.nodes.lanes.get(resource)
        return 0 if lane is None else int(self.nodes.requested[lane, self.row])
