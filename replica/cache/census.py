"""Which pods stand on which nodes, by cohort: kept up row by row, for whoever counts pods by topology value."""

from __future__ import annotations

from collections import Counter, OrderedDict
from itertools import compress
from operator import is_not
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from replica.cache.cohort import TERMS, Cohort, says_something
from replica.cache.domains import Domains

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.cache.arrays import Amounts
    from replica.cache.changes import Changes
    from replica.cache.tally import Tally

KEPT: Final = 256
"""Plans kept; the one asked for longest ago goes first."""


class Counting(Protocol):
    """Something that counts the cohorts of a scope, those that come later too."""

    def consider(self, cohort: Cohort) -> None:
        """Count it if it matters: `Tally.take`."""
        ...


class Plan(Protocol):
    """Counters that belong together: kept until others are asked for more."""

    def counters(self) -> Iterable[tuple[Hashable, Counting]]:
        """Each with its scope."""
        ...

    def tallies(self) -> Iterable[Tally]: ...


P = TypeVar("P", bound=Plan)


class Census:
    """The pods of a node table's snapshots, from one to the next. For the one who reads these.

    It costs nothing until somebody asks; from then on what a placed pod costs depends on how many count it.

    Attributes:
        version: Grows when a node changes, when the first pods that say the same about others come to nodes or the last
            are gone, and when a plan is given up. How many pods are where has no part in it.
    """

    def __init__(self) -> None:
        self.version = 0
        self._objects: Sequence[Node | None] = ()
        self._pods: Sequence[Mapping[str, Pod]] = ()
        self._generation: Amounts = np.zeros(0, np.int64)
        self._node_generation: Amounts = np.zeros(0, np.int64)
        self._changes: Changes | None = None
        self._serial = -1
        self._seen: Amounts = np.full(0, -1, np.int64)
        self._nodes_seen: Amounts = np.full(0, -1, np.int64)
        self._on: list[Mapping[str, Pod]] = []
        self._cohorts: dict[Hashable, Cohort] = {}
        self._places: dict[Hashable, dict[Cohort, None]] = {}
        self._counters: dict[Hashable, dict[Counting, None]] = {}
        self._namespaces: Counter[str] = Counter()
        self._plans: OrderedDict[Hashable, Any] = OrderedDict()
        self._domains: WeakValueDictionary[Hashable, Domains] = WeakValueDictionary()

    def look_at(
        self,
        *,
        objects: Sequence[Node | None],
        pods: Sequence[Mapping[str, Pod]],
        generation: Amounts,
        node_generation: Amounts,
        changes: Changes,
    ) -> None:
        """The columns of a new view; rows that are the same belong to the same nodes as before.

        Args:
            changes: Of rows, from one snapshot to the next.
        """
        self._objects, self._pods = objects, pods
        self._generation, self._node_generation = generation, node_generation
        self._changes, self._serial = changes, -1

    # --- what plugins ask

    def sync(self) -> None:
        """Catch up with the snapshot. To be called before anything is asked of it, or of a tally."""
        changes = self._changes
        if changes is None or changes.serial == self._serial:
            return
        changed = changes.since(self._serial) if self._serial >= 0 else None
        rows = len(self._objects)
        if len(self._seen) < rows:
            more = np.full(rows - len(self._seen), -1, np.int64)
            self._seen, self._nodes_seen = np.concatenate((self._seen, more)), np.concatenate((self._nodes_seen, more))
            self._on += [{} for _ in more]
        if changed is None:
            changed = frozenset(np.flatnonzero(self._seen[:rows] != self._generation[:rows]).tolist())
        self._serial = changes.serial
        for row in changed:
            self._look(row)

    def any_terms(self) -> bool:
        """Does any pod on a node say something about other pods?"""
        return bool(self._places.get(TERMS))

    def namespaces(self) -> Collection[str]:
        """Those that have pods on nodes."""
        return self._namespaces.keys()

    def plan(self, key: Hashable, make: Callable[[], P]) -> P:
        """The plan under a key, made when it isn't kept: its counters then count what there is."""
        found: P | None = self._plans.get(key)
        if found is None:
            found = self._plans[key] = make()
            for scope, counter in found.counters():
                self._counters.setdefault(scope, {})[counter] = None
                for cohort in tuple(self._places.get(scope, ())):
                    counter.consider(cohort)
            if len(self._plans) > KEPT:
                self._close(self._plans.popitem(last=False)[1])
        self._plans.move_to_end(key)
        return found

    def domains(self, key: str, eligible: Callable[[Node], bool] | None = None, by: Hashable = None) -> Domains:
        """The values of a label, node by node.

        Args:
            eligible: The nodes whose pods count; None: all of them.
            by: What `eligible` depends on.
        """
        found = self._domains.get((key, by))
        if found is None:
            found = self._domains[key, by] = Domains(key, eligible)
            for row, node in enumerate(self._objects):
                found.enter(row, node)
        return found

    # --- keeping up

    def _look(self, row: int) -> None:
        """A row changed."""
        if self._nodes_seen.item(row) != self._node_generation.item(row):
            self._nodes_seen[row] = self._node_generation[row]
            self.version += 1
            for domains in self._domains.values():
                domains.enter(row, self._objects[row])
        self._seen[row] = self._generation[row]
        before, now = self._on[row], self._pods[row]
        self._on[row] = now
        came = 0
        # Most of a row's pods are the very ones that were there, and no Python is spent on them.
        for uid in compress(now, map(is_not, now.values(), map(before.get, now))):
            pod, old = now[uid], before.get(uid)
            came += old is None
            if old is not None and _counts_alike(old, pod):
                continue
            if old is not None:
                self._enter(row, old, -1)
            self._enter(row, pod, 1)
        if len(before) + came > len(now):
            for uid, old in before.items():
                if uid not in now:
                    self._enter(row, old, -1)

    def _enter(self, row: int, pod: Pod, count: int) -> None:
        spec = pod.spec
        key = (pod.namespace, pod.labels, pod.owner, pod.deleting, spec if says_something(spec) else None)
        cohort = self._cohorts.get(key)
        if cohort is None:
            cohort = self._cohorts[key] = Cohort(pod)
            self._introduce(cohort)
        there = cohort.rows.get(row, 0) + count
        if there:
            cohort.rows[row] = there
        else:
            del cohort.rows[row]
        for tally, weight in cohort.tallies:
            tally.add(row, weight * count)
        if not cohort.rows:
            del self._cohorts[key]
            self._dismiss(cohort)

    def _introduce(self, cohort: Cohort) -> None:
        self._namespaces[cohort.namespace] += 1
        self.version += says_something(cohort.spec)
        for scope in cohort.scopes():
            self._places.setdefault(scope, {})[cohort] = None
            for counter in tuple(self._counters.get(scope, ())):
                counter.consider(cohort)

    def _dismiss(self, cohort: Cohort) -> None:
        self._namespaces[cohort.namespace] -= 1
        if not self._namespaces[cohort.namespace]:
            del self._namespaces[cohort.namespace]
        self.version += says_something(cohort.spec)
        for scope in cohort.scopes():
            there = self._places[scope]
            del there[cohort]
            if not there:
                del self._places[scope]
        for tally, _ in cohort.tallies:
            tally.lose(cohort)

    def _close(self, plan: Plan) -> None:
        self.version += 1
        for scope, counter in plan.counters():
            there = self._counters[scope]
            del there[counter]
            if not there:
                del self._counters[scope]
        for tally in plan.tallies():
            tally.close()


def _counts_alike(old: Pod, new: Pod) -> bool:
    """Are they of one cohort? So they are when a bind comes back that was assumed."""
    return (
        old.spec is new.spec
        and (old.labels is new.labels or old.labels == new.labels)
        and old.owner == new.owner
        and old.deleting == new.deleting
        and old.namespace == new.namespace
    )
