"""The node table: nodes as rows of NumPy arrays, kept up to date row by row.

Informers change it from their threads; a scheduling cycle reads a snapshot, for which only changed rows are copied.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from replica.api import resources
from replica.cache.census import Census
from replica.cache.changes import Changes
from replica.cache.columns import Columns
from replica.cache.host_ports import NONE
from replica.cache.nodes import CPU, EPHEMERAL, LANES, MEMORY, PODS

if TYPE_CHECKING:
    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.api.podspec import HostPort, PodSpec
    from replica.cache.nodes import Nodes

LIMIT = 1 << 56
"""Amounts of a node above this (64 PiB) count as this, so that a score's `100 * amount` stays within int64."""

DEMAND_LIMIT = 2 * LIMIT
"""Requests above this count as this: above LIMIT still, so they fit no node."""


class Demand(msgspec.Struct, frozen=True, gc=False, kw_only=True, cache_hash=True):
    """What a pod takes from its node, sorted out for the table and for the plugins.

    Attributes:
        cpu: Millicpu.
        memory: Bytes.
        ephemeral: Bytes of ephemeral storage.
        extended: Resource name and whole units of everything else that is requested.
        scoring_cpu: Millicpu with 100m for each container that requests none. For scores only.
        scoring_memory: Bytes with 200Mi for each container that requests none. For scores only.
    """

    cpu: int = 0
    memory: int = 0
    ephemeral: int = 0
    extended: tuple[tuple[str, int], ...] = ()
    scoring_cpu: int = 0
    scoring_memory: int = 0


@lru_cache(maxsize=4096)
def demand_of(spec: PodSpec) -> Demand:
    """What pods of this specification take."""
    amounts = {name: min(amount, DEMAND_LIMIT) for name, amount in spec.requests}
    return Demand(
        cpu=amounts.pop(resources.CPU, 0),
        memory=amounts.pop(resources.MEMORY, 0),
        ephemeral=amounts.pop(resources.EPHEMERAL_STORAGE, 0),
        extended=tuple((name, amount) for name, amount in amounts.items() if amount and name != resources.PODS),
        scoring_cpu=min(spec.scoring_cpu, DEMAND_LIMIT),
        scoring_memory=min(spec.scoring_memory, DEMAND_LIMIT),
    )


@dataclass(slots=True)
class _Entry:
    """A node name: its row while the node exists, its pods, and their exact sums (Python's integers don't overflow)."""

    row: int | None = None
    pods: dict[str, Pod] = field(default_factory=dict)
    sums: dict[int, int] = field(default_factory=lambda: {CPU: 0, MEMORY: 0, PODS: 0})
    scoring: list[int] = field(default_factory=lambda: [0, 0])
    ports: Counter[HostPort] = field(default_factory=Counter)


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

    Pods on a node that isn't known (yet, or no more) are kept by the node's name and counted when it comes.
    """

    def __init__(self, capacity: int = 64) -> None:
        self._lock = threading.Lock()
        self._lanes: dict[str, int] = {name: lane for lane, name in enumerate(LANES)}
        self._live = Columns(len(LANES), capacity)
        self._entries: dict[str, _Entry] = {}
        self._free: list[int] = []
        self._generation = 0
        self._count = 0
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
            entry = self._entry(node.name)
            if entry.row is None:
                entry.row = self._take_row(node.name, entry)
            row = entry.row
            live = self._live
            live.allocatable[:, row] = 0
            for resource, amount in node.allocatable:
                live.allocatable[self._lanes[resource], row] = max(0, min(amount, LIMIT))
            live.unschedulable[row] = node.unschedulable
            live.objects[row] = node
            self._touch(row, node=True)
            return row

    def remove_node(self, name: str) -> None:
        """Forget a node; its pods wait for a node of this name. An unknown name is no error."""
        with self._lock:
            entry = self._entries.get(name)
            if entry is None or entry.row is None:
                return
            row, entry.row = entry.row, None
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
            self._touch(row, node=True)
            self._drop_if_empty(name, entry)

    def add_pod(self, node: str, pod: Pod) -> bool:
        """Count a pod on a node; a pod (by uid) that is there already is counted anew.

        One that differs in nothing that others could mind, such as its revision, changes no row.

        Returns:
            Whether the node is known.
        """
        with self._lock:
            entry = self._entry(node)
            old = entry.pods.get(pod.uid)
            entry.pods[pod.uid] = pod
            if old is not None:
                if _counts_alike(old, pod):
                    return self._renew(entry, pod)
                self._account(entry, old.spec, -1)
            self._account(entry, pod.spec, 1)
            if entry.row is None:
                return False
            self._write_usage(entry, entry.row)
            self._live.pods[entry.row][pod.uid] = pod
            self._touch(entry.row)
            return True

    def remove_pod(self, node: str, uid: str) -> bool:
        """Stop counting a pod; False when it wasn't there."""
        with self._lock:
            entry = self._entries.get(node)
            if entry is None or (old := entry.pods.pop(uid, None)) is None:
                return False
            self._account(entry, old.spec, -1)
            if entry.row is not None:
                self._write_usage(entry, entry.row)
                del self._live.pods[entry.row][uid]
                self._touch(entry.row)
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
            live, copy = self._live, self._copy
            if copy.allocatable.shape != live.allocatable.shape or len(copy.names) != len(live.names):
                copy = self._copy = live.grown(*live.allocatable.shape)
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

    def _entry(self, name: str) -> _Entry:
        entry = self._entries.get(name)
        if entry is None:
            entry = self._entries[name] = _Entry()
        return entry

    def _drop_if_empty(self, name: str, entry: _Entry) -> None:
        if entry.row is None and not entry.pods:
            del self._entries[name]

    def _lane(self, resource: str) -> int:
        lane = self._lanes.get(resource)
        if lane is None:
            lane = self._lanes[resource] = len(self._lanes)
            self._live = self._live.grown(lane + 1, self._live.valid.size)
        return lane

    def _take_row(self, name: str, entry: _Entry) -> int:
        if self._free:
            row = self._free.pop()
        else:
            row = len(self._live.names)
            if row == self._live.valid.size:
                self._live = self._live.grown(len(self._lanes), 2 * row)
            self._live.append_row()
        self._live.rename(row, name)
        self._live.valid[row] = True
        self._live.pods[row] = dict(entry.pods)
        self._write_usage(entry, row)
        self._count += 1
        return row

    def _renew(self, entry: _Entry, pod: Pod) -> bool:
        """A pod that counted before is at another revision: readers get it, and have nothing to judge anew."""
        if entry.row is None:
            return False
        self._live.pods[entry.row][pod.uid] = pod
        self._renewed.add(entry.row)
        return True

    def _account(self, entry: _Entry, spec: PodSpec, sign: int) -> None:
        demand, sums = demand_of(spec), entry.sums
        sums[CPU] += sign * demand.cpu
        sums[MEMORY] += sign * demand.memory
        sums[PODS] += sign
        if demand.ephemeral:
            sums[EPHEMERAL] = sums.get(EPHEMERAL, 0) + sign * demand.ephemeral
        for resource, amount in demand.extended:
            lane = self._lane(resource)
            sums[lane] = sums.get(lane, 0) + sign * amount
        entry.scoring[0] += sign * demand.scoring_cpu
        entry.scoring[1] += sign * demand.scoring_memory
        for port in spec.host_ports:
            entry.ports[port] += sign
            if not entry.ports[port]:
                del entry.ports[port]

    def _write_usage(self, entry: _Entry, row: int) -> None:
        requested, scoring = self._live.requested, self._live.scoring
        for lane, amount in entry.sums.items():
            requested[lane, row] = min(amount, DEMAND_LIMIT)
        scoring[0, row] = min(entry.scoring[0], DEMAND_LIMIT)
        scoring[1, row] = min(entry.scoring[1], DEMAND_LIMIT)
        self._live.ports.put(row, frozenset(entry.ports) if entry.ports else NONE)

    def _touch(self, row: int, *, node: bool = False) -> None:
        self._generation += 1
        self._live.generation[row] = self._generation
        if node:
            self._live.node_generation[row] = self._generation
            self._node_changed.add(row)
        self._changed.add(row)
