"""A small cluster in which pods are preempted by the default plugins, and the same read by trying out everything."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from replica.api.groups import DisruptionBudget
from replica.api.labels import labels_from
from replica.api.selectors import LabelSelector
from replica.cache.node_table import NodeTable
from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.interface import Handle
from replica.framework.status import SUCCESS
from replica.framework.waiting import WaitingPods
from replica.preemption.book import BudgetBook
from replica.queue.nominator import Nominator
from tests.harness import plain
from tests.harness.clock import ManualClock
from tests.harness.framework import runtime_of
from tests.harness.objects import pod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replica.api.nodes import Node
    from replica.api.pods import Pod

Expected = tuple[set[str], dict[str, set[str]]]
"""The nodes that are as good as any, and by node the names of who has to go there."""


def running(name: str, node: str, *, priority: int = 0, started: int = 0, **spec: Any) -> Pod:
    """A pod on a node, `started` minutes after midnight."""
    made = pod(name, uid=name, node=node, priority=priority, **spec)
    return replace(made, started=f"2026-01-01T{started // 60:02}:{started % 60:02}:00Z")


def labelled(made: Pod, labels: Mapping[str, str]) -> Pod:
    return replace(made, labels=labels_from(msgspec.json.encode(labels)))


def budget(name: str, labels: Mapping[str, str], **limits: Any) -> DisruptionBudget:
    return DisruptionBudget(name=name, namespace="default", selector=LabelSelector(match_labels=dict(labels)), **limits)


class Anybody:
    """A Filter for one node at a time, so that preemption can't ask row by row."""

    name = "Anybody"

    def filter_node(self, _state: Any, _pod: Any, _node: Any) -> Any:
        return SUCCESS


@dataclass
class Cluster:
    """Nodes, pods on them, budgets, and promises; one profile with the default plugins.

    Attributes:
        slow: Have every attempt made on nodes of its own, as for plugins that aren't asked by row.
    """

    slow: bool = False
    seed: int = 1
    args: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.table = NodeTable(capacity=4)
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.budgets: list[DisruptionBudget] = []
        self.book = BudgetBook(lambda _namespace: self.pods.values())
        self.nominator = Nominator()
        handle = Handle(
            ManualClock(),
            random.Random(self.seed),  # noqa: S311  # drawn tests, no secret
            WaitingPods(),
            nominator=self.nominator,
            budgets=self.book,
        )
        extra = (Anybody(),) if self.slow else ()
        self.runtime = runtime_of(*extra, args={"DefaultPreemption": self.args}, with_handle=handle)

    def add_node(self, node: Node) -> None:
        self.nodes[node.name] = node
        self.table.set_node(node)

    def add(self, *pods: Pod) -> None:
        for each in pods:
            self.pods[each.uid] = each
            self.table.add_pod(each.node, each)
            self.book.see_pod(each)

    def remove(self, uid: str) -> None:
        gone = self.pods.pop(uid)
        self.table.remove_pod(gone.node, uid)
        self.book.lose_pod(gone)

    def guard(self, made: DisruptionBudget) -> None:
        self.budgets.append(made)
        self.book.see_budget(made)

    def promise(self, made: Pod, node: str) -> None:
        self.nominator.nominate(made, node)

    def preempt(self, made: Pod) -> tuple[str, set[str]] | str:
        """The node and the names of its victims, or why there are none; "" where the pod fits as it is."""
        state, nodes = CycleState(), self.table.snapshot()
        found = self.runtime.place(state, made, nodes)
        if not isinstance(found, Diagnosis):
            return ""
        result = self.runtime.post_filter(state, made, nodes, found)
        if not result.status.ok:
            return result.status.message
        assert result.nominated_node
        return result.nominated_node, {each.name for each in result.victims}

    # --- everything tried out

    def on(self, name: str) -> list[Pod]:
        return [each for each in self.pods.values() if each.node == name]

    def expected(self, made: Pod) -> Expected:
        """Where the least is lost: every subset of the pods that matter less is tried on every node."""
        harms, victims = {}, {}
        for name in self.nodes:
            found = self._best(made, name)
            if found is not None:
                harms[name], victims[name] = found
        least = min(harms.values(), default=None)
        return {name for name, harm in harms.items() if harm == least}, victims

    def _best(self, made: Pod, name: str) -> tuple[tuple[float, ...], set[str]] | None:
        """Of all that could go from a node those who matter least: pods that a budget keeps count before all others."""
        lower = [each for each in self.on(name) if _priority(each) < _priority(made)]
        lower.sort(key=lambda each: (-_priority(each), each.started, each.path))
        kept = self._kept(lower)
        order = [each for each in lower if each.uid in kept] + [each for each in lower if each.uid not in kept]
        for goes in product((False, True), repeat=len(order)):  # from nobody on: the first that does is the least
            gone = {each.uid for each, flag in zip(order, goes, strict=True) if flag}
            if gone and self._fits(made, name, gone):
                victims = [each for each in order if each.uid in gone]
                highest = max(map(_priority, victims))
                first = min(each.started for each in victims if _priority(each) == highest)
                return (
                    len(gone & kept),
                    highest,
                    sum(_priority(each) + 2**31 for each in victims),
                    len(victims),
                    -(int(first[11:13]) * 60 + int(first[14:16])),
                ), {each.name for each in victims}
        return None

    def _fits(self, made: Pod, name: str, gone: set[str]) -> bool:
        there = [each for each in self.on(name) if each.uid not in gone]
        promised = [
            each
            for each in self.nominator.promised(name)
            if each.path != made.path and _priority(each) >= _priority(made)
        ]
        return all(
            not refuses(made, self.nodes[name], pods) for pods in (there, there + promised) for refuses in plain.FILTERS
        )

    def _kept(self, order: list[Pod]) -> set[str]:
        """Whose going would violate a budget, if they went in this order."""
        kept = set()
        for each in self.budgets:
            assert each.selector is not None
            wanted = each.selector.match_labels.items()
            mine = [other for other in self.pods.values() if wanted <= other.labels.items()]
            healthy = [other for other in mine if not other.deleting and not other.unready]
            left = len(healthy)
            for other in order:
                if other in mine:
                    left -= other in healthy
                    if left < _desired(each, len(mine)):
                        kept.add(other.uid)
        return kept


def _priority(made: Pod) -> int:
    return made.spec.priority or 0


def _desired(made: DisruptionBudget, expected: int) -> float:
    def share(value: int | str) -> int:
        return value if isinstance(value, int) else -(-int(value[:-1]) * expected // 100)

    if made.min_available is not None:
        return share(made.min_available)
    assert made.max_unavailable is not None
    return max(0, expected - share(made.max_unavailable))
