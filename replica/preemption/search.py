"""Which nodes could be cleared for a pod, and which of them with the least harm."""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from replica.framework import victims as framework
from replica.preemption.victims import Victims, by_importance, choose

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from replica.api.pods import Pod
    from replica.cache.nodes import Amounts, Flags, Nodes
    from replica.framework.attempts import Trial
    from replica.framework.disruptions import Budgets
    from replica.framework.promises import Promised
    from replica.framework.victims import Advisers

NO_VICTIMS: Final = "No preemption victims found for incoming pod"
NO_CANDIDATE: Final = "no candidate node for preemption"
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"

KEPT: Final = 16
"""Kinds of pods whose trials are remembered, the least recently seen one forgotten first."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to.

    Attributes:
        row: The node to clear; None: there is none.
        victims: Who goes for it.
        reasons: Without a node: why not, and how many nodes each reason holds for.
    """

    row: int | None = None
    victims: Victims | None = None
    reasons: Mapping[str, int] | None = None


class Outcomes:
    """What came out of trials of one kind of pod, by row of the node table. Good until the row changes.

    Attributes:
        ok: bool[row], the node can be cleared.
        harm: int64[4, row]: budget violations, highest priority, sum of priorities, number of victims.
        started: float64[row], since when the most important victim has run.
        victims: By row.
        reasons: By row, why it can't be cleared; None until somebody asks.
    """

    def __init__(self, size: int) -> None:
        self._seen = np.zeros(size, np.int64)
        self._budgets = np.full(size, -1, np.int64)
        self._known = np.full(size, -1, np.int64)
        self._stamps = np.zeros(size, np.int64)
        self.ok = np.zeros(size, np.bool_)
        self.harm = np.zeros((4, size), np.int64)
        self.started = np.zeros(size, np.float64)
        self.victims: list[Victims | None] = [None] * size
        self.reasons: list[tuple[str, ...] | None] = [None] * size

    @property
    def size(self) -> int:
        return len(self.victims)

    def fresh(self, nodes: Nodes, budgets: Budgets, promised: Promised) -> Flags:
        """bool[row]: what is known of the node still holds."""
        holds: Flags = (self._seen == nodes.generation) & (self._known == budgets.budgets_version)
        holds &= (self._budgets < 0) | (self._budgets == budgets.version)
        holds &= self._stamps == promised.stamps
        return holds

    def put(
        self,
        row: int,
        victims: Victims | None,
        *,
        nodes: Nodes,
        promised: Promised,
        budgets: Budgets,
        asked: bool,
    ) -> None:
        """Enter how a trial ended.

        Args:
            asked: Did a budget have a say?
        """
        self._seen[row] = nodes.generation[row]
        self._known[row] = budgets.budgets_version
        self._budgets[row] = budgets.version if asked else -1
        self._stamps[row] = promised.stamps[row]
        self.ok[row] = victims is not None
        self.victims[row], self.reasons[row] = victims, None
        if victims is not None:
            self.harm[:, row] = (victims.violations, victims.highest, victims.total, len(victims.pods))
            self.started[row] = victims.started


class Search:
    """Tries nodes one after the other, from a random one on, until enough of them can be cleared.

    Pods that are alike share what came out: only nodes that changed, or are promised to others than before, are tried
    again. Which nodes are looked at doesn't depend on what is remembered.

    Args:
        priority: A pod's.
        advisers: Who is asked which of the candidates may be cleared.
        remember: Off for tests that hold the two against each other.
    """

    def __init__(
        self,
        priority: Callable[[Pod], int],
        budgets: Budgets,
        *,
        advisers: Advisers | None = None,
        remember: bool = True,
    ) -> None:
        self._advisers = advisers
        self._priority = priority
        self._budgets = budgets
        self._remember = remember
        self._kinds: OrderedDict[Hashable, Outcomes] = OrderedDict()

    def run(
        self,
        trial: Trial,
        pod: Pod,
        nodes: Nodes,
        possible: Flags,
        *,
        kind: Hashable | None,
        offset: Callable[[int], int],
        wanted: Callable[[int], int],
    ) -> Found:
        """The node to clear for a pod.

        Args:
            possible: bool[size]: the nodes where less pods may help.
            kind: Equal for pods that are alike; None for one like no other.
            offset: Given how many these are: where among them to begin.
            wanted: Given the same: how many that can be cleared are enough.
        """
        rows = np.flatnonzero(possible)
        hopeless = nodes.count - len(rows)
        if not len(rows):
            return Found(reasons={NOT_HELPFUL: hopeless} if hopeless else {})
        known = self._outcomes(kind, nodes.size)
        rows = np.roll(rows, -offset(len(rows)))
        candidates = self._candidates(known, trial, pod, nodes, rows=rows, wanted=wanted(len(rows)))
        if not len(candidates):
            told = (self._reasons(known, trial, pod, nodes, row) for row in rows.tolist())
            reasons = Counter(reason for found in told for reason in found)
            return Found(reasons=reasons + Counter({NOT_HELPFUL: hopeless}))
        if self._advisers is not None and len(self._advisers):
            return self._advised(self._advisers, known, pod, nodes, candidates)
        row = least_harm(known, candidates)
        return Found(row, known.victims[row])

    def _advised(self, advisers: Advisers, known: Outcomes, pod: Pod, nodes: Nodes, candidates: Amounts) -> Found:
        """The same of the candidates that others leave, each with the victims that they leave of it.

        Raises:
            PluginFailed: Somebody failed who may not be ignored.
        """
        asked: dict[str, framework.Victims] = {}
        for row in candidates.tolist():
            victims = known.victims[row]
            if victims is not None:
                asked[nodes.names[row]] = framework.Victims(victims.pods, victims.violations)
        left = advisers.preempt(pod, asked)
        importance = by_importance(self._priority)
        found = {
            name: Victims.of(sorted(left[name].pods, key=importance), left[name].violations, self._priority)
            for name in asked
            if name in left
        }
        name = min(found, key=lambda each: found[each].harm, default="")
        return Found(nodes.index[name], found[name]) if name else Found(reasons={NO_CANDIDATE: nodes.count})

    def _outcomes(self, kind: Hashable | None, size: int) -> Outcomes:
        if kind is None or not self._remember:
            return Outcomes(size)
        known = self._kinds.get(kind)
        if known is None or known.size != size:
            known = self._kinds[kind] = Outcomes(size)
            if len(self._kinds) > KEPT:
                self._kinds.popitem(last=False)
        self._kinds.move_to_end(kind)
        return known

    def _candidates(
        self, known: Outcomes, trial: Trial, pod: Pod, nodes: Nodes, *, rows: Amounts, wanted: int
    ) -> Amounts:
        """The first rows that can be cleared: so many, and further until one of them violates no budget."""
        holds = known.fresh(nodes, self._budgets, trial.promised)[rows]
        can = known.ok[rows] & holds
        counts, spared = np.cumsum(can), np.cumsum(can & (known.harm[0, rows] == 0))
        more = harmless = 0
        for place in np.flatnonzero(~holds).tolist():
            if place and counts[place - 1] + more >= wanted and spared[place - 1] + harmless:
                break
            row = int(rows[place])
            self._try(known, trial, pod, nodes, row)
            holds[place] = True
            if known.ok[row]:
                more += 1
                harmless += known.harm[0, row] == 0
        end = _enough(known.ok[rows] & holds, known.harm[0, rows] == 0, wanted)
        looked: Amounts = rows[:end]
        return looked[known.ok[looked]]

    def _reasons(self, known: Outcomes, trial: Trial, pod: Pod, nodes: Nodes, row: int) -> tuple[str, ...]:
        """Why a node that was tried can't be cleared."""
        found = known.reasons[row]
        if found is None:
            lower = self._lower(pod, nodes, row)
            found = (NO_VICTIMS,)
            if lower:
                attempt = trial.on(row)
                attempt.without(lower)
                found = tuple(attempt.refusal().counts)
            known.reasons[row] = found
        return found

    def _lower(self, pod: Pod, nodes: Nodes, row: int) -> list[Pod]:
        """The pods of a node that matter less."""
        own, priority = self._priority(pod), self._priority
        return [other for other in nodes.pods[row].values() if priority(other) < own]

    def _try(self, known: Outcomes, trial: Trial, pod: Pod, nodes: Nodes, row: int) -> None:
        """Try one node."""
        lower, priority = self._lower(pod, nodes, row), self._priority
        victims: Victims | None = None
        asked = False
        if lower:
            victims, asked = choose(trial.on(row), lower, priority=priority, budgets=self._budgets)
        known.put(
            row,
            victims,
            nodes=nodes,
            promised=trial.promised,
            budgets=self._budgets,
            asked=asked,
        )


def least_harm(known: Outcomes, rows: Amounts) -> int:
    """The row where least is lost, in kube-scheduler's order.

    The fewest budget violations, the lowest highest priority, the smallest sum of priorities, the fewest victims, the
    most important of which began last; then the first.
    """
    for harm in known.harm:
        rows = rows[harm[rows] == harm[rows].min()]
    started = known.started[rows]
    return int(rows[started == started.max()][0])


def _enough(can: Flags, harmless: Flags, wanted: int) -> int:
    """How many rows have to be looked at: to the one by which there are enough, one of them harmless."""
    counts = np.cumsum(can)
    spared = np.cumsum(can & harmless)
    reached = np.flatnonzero((counts >= wanted) & (spared > 0))
    return int(reached[0]) + 1 if len(reached) else len(can)
