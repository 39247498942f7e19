"""The node table: nodes as rows of NumPy arrays, kept up to date row by row.

Informers change it from their threads; a scheduling cycle reads a snapshot, for which only changed rows are copied.
"""

from __future__ import annotations

import threading
from operator import add, sub
from typing import TYPE_CHECKING

import numpy as np

from replica.cache.census import Census
from replica.cache.changes import Changes
from replica.cache.columns import Columns
from replica.cache.host_ports import NONE
from replica.cache.nodes import LANES
from replica.cache.occupancy import DEMAND_LIMIT, LIMIT, Occupancy, columns_of, demand_of, shares_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.api.podspec import PodSpec
    from replica.cache.nodes import Nodes

FEW = 16
"""Rows up to which writing one after the other is quicker than writing whole columns."""


def _counts_alike(old: Pod, new: Pod) -> bool:
    """Is its node what it was for whoever places others there? So it is when a bind comes back that was assumed."""
    return (
        old.spec is new.spec
        and old.labels == new.labels
        and old.deleting == new.deleting
        and old.phase == new.phase
        and old.started == new.started
        and old.ends == new.ends
        and old.unready == new.unready
    )


class NodeTable:
    """Nodes and the pods on them, assumed ones too. Thread-safe.

    Whoever adds a pod pays for a few additions; its row is written when a snapshot is taken. So a standby, where nobody
    looks, never does, and has every row written at once when it comes to lead.

    Pods on a node that isn't known (yet, or no more) are kept by the node's name and counted when it comes.
    """

    def __init__(self, capacity: int = 64) -> None:
        self._lock = threading.Lock()
        self._lanes: dict[str, int] = {name: lane for lane, name in enumerate(LANES)}
        self._live = Columns(len(LANES), capacity)
        self._entries: dict[str, Occupancy] = {}
        self._free: list[int] = []
        self._generation = 0
        self._count = 0
        self._stale: dict[int, Occupancy] = {}
        """Rows whose sums have not been written yet."""
        self._changed: set[int] = set()
        self._changes = Changes()
        self._node_changed: set[int] = set()
        self._node_changes = Changes()
        self._renewed: set[int] = set()
        self._copy = Columns(len(LANES), capacity)
        self._view: Nodes | None = None
        self._census = Census()

    def set_node(self, node: Node) -> int:
        """Add or update a node; its pods stay. Returns its row."""
        with self._lock:
            for resource, _ in node.allocatable:
                self._lane(resource)
            entry = self._entries.get(node.name) or self._enter(node.name)
            if entry.row is None:
                entry.row = self._take_row(node.name, entry)
            row = entry.row
            live = self._live
            live.allocatable[:, row] = 0
            for resource, amount in node.allocatable:
                live.allocatable[self._lanes[resource], row] = max(0, min(amount, LIMIT))
            live.unschedulable[row] = node.unschedulable
            live.objects[row] = node
            self._node_changed.add(row)
            return row

    def remove_node(self, name: str) -> None:
        """Forget a node; its pods wait for a node of this name. An unknown name is no error."""
        with self._lock:
            entry = self._entries.get(name)
            if entry is None or entry.row is None:
                return
            row, entry.row = entry.row, None
            self._stale.pop(row, None)
            live = self._live
            live.allocatable[:, row] = 0
            live.requested[:, row] = 0
            live.scoring[:, row] = 0
            live.unschedulable[row] = False
            live.valid[row] = False
            live.rename(row, "")
            live.objects[row] = None
            live.pods[row] = {}
            live.ports.put(row, NONE)
            self._free.append(row)
            self._count -= 1
            self._node_changed.add(row)
            self._drop_if_empty(name, entry)

    def add_pod(self, node: str, pod: Pod) -> bool:
        """Count a pod on a node; a pod (by uid) that is there already is counted anew.

        One that differs in nothing that others could mind, such as its revision, changes no row.

        Returns:
            Whether the node is known.
        """
        with self._lock:
            entry = self._entries.get(node) or self._enter(node)
            row = entry.row
            old = entry.pods.get(pod.uid)
            entry.pods[pod.uid] = pod
            if old is not None:
                if _counts_alike(old, pod):
                    # It is at another revision: readers get it, and have nothing to judge anew.
                    if row is not None:
                        self._renewed.add(row)
                    return row is not None
                self._account(entry, old.spec, sub)
            self._account(entry, pod.spec, add)
            if row is None:
                return False
            self._stale[row] = entry
            self._changed.add(row)
            return True

    def remove_pod(self, node: str, uid: str) -> bool:
        """Stop counting a pod; False when it wasn't there."""
        with self._lock:
            entry = self._entries.get(node)
            if entry is None or (old := entry.pods.pop(uid, None)) is None:
                return False
            self._account(entry, old.spec, sub)
            if entry.row is not None:
                self._stale[entry.row] = entry
                self._changed.add(entry.row)
            self._drop_if_empty(node, entry)
            return True

    def row(self, name: str) -> int | None:
        """The node's row, or None when it isn't known."""
        with self._lock:
            return self._live.index.get(name)

    @property
    def known(self) -> int:
        """How many nodes are known; takes no lock."""
        return self._count

    def sizes(self) -> tuple[int, int]:
        """How many nodes are known, and how many pods are counted."""
        with self._lock:
            return self._count, sum(len(entry.pods) for entry in self._entries.values())

    def snapshot(self) -> Nodes:
        """The table as it is now. For one reader: the next call changes what the last one returned."""
        with self._lock:
            self._write()
            live, copy = self._live, self._copy
            if copy.allocatable.shape != live.allocatable.shape or len(copy.names) != len(live.names):
                copy = self._copy = live.grown(*live.allocatable.shape)
                copy.pods = list(map(dict, live.pods))
                self._view = None
            elif self._changed:
                for row in self._changed:
                    copy.copy_row(row, live)
                self._changes.add(self._changed)
                if self._node_changed:
                    self._node_changes.add(self._node_changed)
            for row in self._renewed:
                copy.pods[row] = dict(live.pods[row])
            self._renewed.clear()
            self._changed.clear()
            self._node_changed.clear()
            if self._view is None:
                self._changes.forget()
                self._view = copy.view(self._lanes, self._changes, self._node_changes, self._census)
            self._view.count = self._view.total = self._count
            return self._view

    # --- under the lock ----------------------------------------------------------------------------------------------

    def _enter(self, name: str) -> Occupancy:
        """A name that isn't known yet."""
        return self._entries.setdefault(name, Occupancy())

    def _drop_if_empty(self, name: str, entry: Occupancy) -> None:
        if entry.row is None and not entry.pods:
            del self._entries[name]

    def _lane(self, resource: str) -> int:
        lane = self._lanes.get(resource)
        if lane is None:
            lane = self._lanes[resource] = len(self._lanes)
            self._live = self._live.grown(lane + 1, self._live.valid.size)
        return lane

    def _take_row(self, name: str, entry: Occupancy) -> int:
        if self._free:
            row = self._free.pop()
        else:
            row = len(self._live.names)
            if row == self._live.valid.size:
                self._live = self._live.grown(len(self._lanes), 2 * row)
            self._live.append_row()
        live = self._live
        live.rename(row, name)
        live.valid[row] = True
        live.pods[row] = entry.pods
        for lane, amount in entry.extended.items():
            live.requested[lane, row] = min(amount, DEMAND_LIMIT)
        live.ports.put(row, frozenset(entry.ports))
        self._stale[row] = entry
        self._count += 1
        return row

    def _account(self, entry: Occupancy, spec: PodSpec, step: Callable[[int, int], int]) -> None:
        """Count a pod in (`add`) or out (`sub`); what few pods ask for is written at once."""
        entry.sums = list(map(step, entry.sums, shares_of(spec)))
        for resource, amount in demand_of(spec).extended:
            lane = self._lane(resource)
            total = entry.extended[lane] = step(entry.extended.get(lane, 0), amount)
            if entry.row is not None:
                self._live.requested[lane, entry.row] = min(total, DEMAND_LIMIT)
        if spec.host_ports:
            for port in spec.host_ports:
                entry.ports[port] = step(entry.ports[port], 1)
                if not entry.ports[port]:
                    del entry.ports[port]
            if entry.row is not None:
                self._live.ports.put(entry.row, frozenset(entry.ports))

    def _write(self) -> None:
        """Bring all rows up to what is known."""
        live, stale = self._live, self._stale
        changed = self._changed = self._changed | self._node_changed
        if len(changed) > FEW:
            self._write_many()
        else:
            for row, entry in stale.items():
                for column, amount in zip(live.sums, entry.sums, strict=True):
                    column[row] = min(amount, DEMAND_LIMIT)
            for row in changed:
                self._generation += 1
                live.generation[row] = self._generation
            for row in self._node_changed:
                live.node_generation[row] = live.generation[row]
        stale.clear()

    def _write_many(self) -> None:
        """The same, column by column."""
        live, rows = self._live, _indexes(self._stale)
        for column, amounts in zip(live.sums, columns_of(self._stale.values()), strict=True):
            column[rows] = amounts
        changed, nodes = _indexes(self._changed), _indexes(self._node_changed)
        live.generation[changed] = np.arange(1, changed.size + 1) + self._generation
        live.node_generation[nodes] = live.generation[nodes]
        self._generation += changed.size


def _indexes(rows: Collection[int]) -> NDArray[np.intp]:
    return np.fromiter(rows, np.intp, len(rows))
