"""The disruption budgets and the pods they have, kept up by informers, for whoever chooses victims."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from replica.preemption.budgets import Standing, is_healthy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from replica.api.groups import DisruptionBudget
    from replica.api.pods import Pod


class _Entry:
    """A budget and which of its pods are healthy. Whatever is told twice, or out of order, counts once."""

    def __init__(self, budget: DisruptionBudget) -> None:
        self.standing = Standing.of(budget)
        self.members: dict[str, Pod] = {}

    def put(self, pod: Pod) -> bool:
        """Take a pod in as it is now; whether that changes anything."""
        if not self.standing.selects(pod):
            return self.drop(pod.uid)
        old = self.members.get(pod.uid)
        self.members[pod.uid] = pod
        if old is not None and is_healthy(old) == is_healthy(pod):
            return False
        if old is not None:
            self.standing.count(old, -1)
        self.standing.count(pod)
        return True

    def drop(self, uid: str) -> bool:
        """The pod is none of its any more; whether it was."""
        old = self.members.pop(uid, None)
        if old is not None:
            self.standing.count(old, -1)
        return old is not None


class BudgetBook:
    """What each budget lets go. Thread-safe.

    A pod that was chosen to go counts as gone from that moment, though the watch shows it later: two preemptions in a
    row don't both use up the same allowance.

    Args:
        pods: The pods of a namespace, as they are cached: for a budget that is new.

    Attributes:
        version: Grows whenever an answer may be another one than before.
        budgets_version: Grows whenever a budget was made, changed or removed.
    """

    def __init__(self, pods: Callable[[str], Iterable[Pod]]) -> None:
        self._pods = pods
        self._lock = threading.Lock()
        self._entries: dict[str, dict[str, _Entry]] = {}
        self._going: set[str] = set()
        self.version = 0
        self.budgets_version = 0

    # --- what preemption asks and says

    def violated(self, pods: Sequence[Pod]) -> tuple[bool, ...] | None:
        """For each pod: would a budget be violated if it went, and those before it? None: no budget is about any.

        One that isn't healthy may go while those that are suffice.
        """
        if not self._entries:
            return None
        with self._lock:
            concerned = False
            left: dict[str, int] = {}
            found: list[bool] = []
            for pod in pods:
                violates = False
                for path, entry in self._entries.get(pod.namespace, {}).items():
                    standing = entry.standing
                    if not standing.selects(pod):
                        continue
                    concerned = True
                    healthy = left[path] if path in left else standing.healthy - self._leaving(entry)
                    left[path] = healthy - (is_healthy(pod) and pod.uid not in self._going)
                    violates = violates or left[path] < standing.desired
                found.append(violates)
            return tuple(found) if concerned else None

    def going(self, uids: Iterable[str]) -> None:
        """These pods were chosen to go."""
        with self._lock:
            self._going.update(uids)
            self.version += bool(self._entries)

    def staying(self, uids: Iterable[str]) -> None:
        """They need not go after all."""
        with self._lock:
            self._going.difference_update(uids)
            self.version += bool(self._entries)

    def _leaving(self, entry: _Entry) -> int:
        """Healthy members that were chosen to go."""
        return sum(uid in entry.members and is_healthy(entry.members[uid]) for uid in self._going)

    # --- what the informers say

    def see_pod(self, pod: Pod) -> None:
        """A pod appeared or changed."""
        if not (self._entries or self._going):
            return  # the usual case, for every pod there is
        with self._lock:
            if pod.deleting:
                self._going.discard(pod.uid)
            for entry in self._entries.get(pod.namespace, {}).values():
                self.version += entry.put(pod)

    def lose_pod(self, pod: Pod) -> None:
        """A pod is gone."""
        if not (self._entries or self._going):
            return
        with self._lock:
            self._going.discard(pod.uid)
            for entry in self._entries.get(pod.namespace, {}).values():
                self.version += entry.drop(pod.uid)

    def see_budget(self, budget: DisruptionBudget) -> None:
        """A budget appeared or changed."""
        with self._lock:
            entry = _Entry(budget)
            for pod in self._pods(budget.namespace):
                entry.put(pod)
            self._entries.setdefault(budget.namespace, {})[budget.path] = entry
            self._changed()

    def lose_budget(self, budget: DisruptionBudget) -> None:
        """A budget is gone."""
        with self._lock:
            entries = self._entries.get(budget.namespace, {})
            entries.pop(budget.path, None)
            if not entries:
                self._entries.pop(budget.namespace, None)
            self._changed()

    def _changed(self) -> None:
        self.version += 1
        self.budgets_version += 1


class BudgetWatch:
    """A handler of the budgets' informer."""

    def __init__(self, book: BudgetBook) -> None:
        self._book = book

    def on_add(self, obj: DisruptionBudget, *, initial: bool) -> None:  # noqa: ARG002  # the first list is no different
        self._book.see_budget(obj)

    def on_update(self, old: DisruptionBudget, new: DisruptionBudget) -> None:  # noqa: ARG002  # what it was is over
        self._book.see_budget(new)

    def on_delete(self, obj: DisruptionBudget, *, stale: bool) -> None:  # noqa: ARG002  # gone is gone
        self._book.lose_budget(obj)
