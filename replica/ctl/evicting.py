"""Emptying a node: cordoned first, its pods evicted one by one as budgets allow, until none is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lockd.errors import LockdError
from lockd.ports import KeyValue
from replica.api.keys import object_key
from replica.api.kinds import DISRUPTION_BUDGET, POD
from replica.ctl import deleting
from replica.ctl.budgets import Budgets
from replica.ctl.draining import DrainRefused, sort_pods
from replica.ctl.getting import find
from replica.ctl.targets import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from threading import Event

    from component.clock import Clock
    from replica.ctl.draining import Allowed
    from replica.ctl.getting import Stored
    from replica.ctl.store import ObjectStore

RETRY: Final = 1.0
"""Seconds until a budget that let no pod go is asked again."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """What became of a pod.

    Attributes:
        budget: The disruption budget that keeps it; "": it is gone.
    """

    pod: Stored
    budget: str


class DrainTimedOut(LockdError):
    """A budget kept pods on a node for too long."""

    def __init__(self, node: str, budget: str) -> None:
        super().__init__(f"node/{node} isn't drained: disruption budget {budget} still keeps pods on it")


class Drain:
    """One drain of one or several nodes.

    Args:
        respect: Ask disruption budgets.
        matches: A predicate on labels: only such pods are evicted.
        warn: Told once of each thing that is done, or left, all the same.
    """

    def __init__(
        self,
        store: ObjectStore,
        allowed: Allowed,
        *,
        respect: bool,
        matches: Callable[[Mapping[str, str]], bool] | None,
        warn: Callable[[str], None],
    ) -> None:
        self._store = store
        self._allowed = allowed
        self._respect = respect
        self._matches = matches
        self._warn = warn
        self._warned: set[str] = set()
        self._budgets = Budgets()

    def plan(self, node: str) -> list[Stored]:
        """The pods of a node that are to be evicted.

        Raises:
            DrainRefused: Pods stand in the way.
            StoreError: etcd didn't answer, or refused.
        """
        pods = find(self._store, Target(POD), "").objects
        if self._respect:
            self._budgets.see(find(self._store, Target(DISRUPTION_BUDGET), "").objects, pods)
        mine = [pod for pod in pods if getattr(pod.object, "node", "") == node]
        found = sort_pods((pod for pod in mine if self._wants(pod)), self._allowed)
        if found.problems:
            raise DrainRefused(tuple(f"unable to drain node/{node}: {problem}" for problem in found.problems))
        for warning in found.warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                self._warn(f"Warning: {warning}")
        return found.evict

    def _wants(self, pod: Stored) -> bool:
        return self._matches is None or self._matches(pod.object.labels)

    def evict(self, pods: Sequence[Stored]) -> Iterator[tuple[Stored, str]]:
        """Evict what budgets allow; yields each pod once it is gone, or with the name of the budget that keeps it.

        Raises:
            StoreError: etcd didn't answer, or refused. What was yielded before is done.
        """
        for pod in pods:
            budget = self._budgets.refusal(pod) if self._respect and not getattr(pod.object, "terminal", False) else ""
            if not budget:
                for _ in deleting.delete(self._store, [self._victim(pod)]):
                    self._budgets.evicted(pod)
            yield pod, budget

    def _victim(self, pod: Stored) -> deleting.Victim:
        """This very pod: one of its name that came since, on whatever node, stays."""
        name, namespace = pod.object.name, pod.object.namespace
        key = object_key(self._store.prefix, POD, name, namespace)
        seen = KeyValue(key, b"", pod.object.mod_revision, pod.object.create_revision)
        return deleting.Victim(POD, name, namespace, key, seen)

    def run(self, node: str, *, clock: Clock, stop: Event, until: float | None) -> Iterator[Eviction]:
        """Evict all pods of a node, those too that came after a look at it; yields what becomes of each.

        Args:
            until: When to give up; None: never.

        Raises:
            DrainTimedOut: Budgets still kept pods when the time was over.
            DrainRefused: Pods stand in the way.
            StoreError: etcd didn't answer, or refused.
        """
        while pods := self.plan(node):
            kept = ""
            for pod, budget in self.evict(pods):
                yield Eviction(pod, budget)
                kept = kept or budget
            if kept:
                if until is not None and clock.now() >= until:
                    raise DrainTimedOut(node, kept)
                clock.wait(stop, RETRY)
