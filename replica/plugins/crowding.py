"""How crowded nodes are by a pod's preferred spread constraints, and what that scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from replica.framework.interface import HIGHEST_SCORE
from replica.plugins.spread_plan import HOSTNAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.cache.arrays import Amounts, Flags, Shares
    from replica.cache.nodes import Nodes
    from replica.plugins.spread_plan import Constraint, SpreadPlan

WIDEST: Final = 4096
"""Up to this range of crowding, the score of each degree is looked up instead of computed for each node."""


class Crowding:
    """Who is how crowded, for one pod.

    Args:
        feasible: The nodes that are to be told apart.

    Attributes:
        raw: int64[size]: the pods that count in each node's domains, weighted; the more domains there are, the more
            each of them weighs.
    """

    __slots__ = ("_counted", "_ignored", "raw")

    def __init__(self, plan: SpreadPlan, nodes: Nodes, feasible: Flags) -> None:
        ids = [nodes.cut(each.tally.domains.ids) for each in plan.preferred]
        self._ignored: Flags | None = None
        if plan.every_key:
            lacking = ids[0] == 0
            for column in ids[1:]:
                lacking |= column == 0
            if lacking.any():
                self._ignored = lacking
        self._counted = feasible if self._ignored is None else feasible & ~self._ignored
        self.raw = self._measure(plan.preferred, ids, nodes)

    def scores(self, raw: Amounts) -> Amounts:
        """int64[size]: the emptiest of the nodes gets the highest score; those that lack a label get nothing."""
        among = raw if self._counted.all() else raw[self._counted]
        most, least = (int(among.max()), int(among.min())) if len(among) else (0, 0)
        if not most:
            found = np.full(len(raw), HIGHEST_SCORE, np.int64)
        elif len(among) == len(raw) and most - least < WIDEST:
            degrees = np.arange(least, most + 1, dtype=np.int64)
            found = ((most + least - degrees) * HIGHEST_SCORE // most).take(raw - least)
        else:
            found = (most + least - raw) * HIGHEST_SCORE // most
        if self._ignored is not None:
            found[self._ignored] = 0
        return found

    def _measure(self, constraints: Sequence[Constraint], ids: Sequence[Amounts], nodes: Nodes) -> Amounts:
        total: Shares = np.zeros(nodes.size, np.float64)
        alone: list[tuple[Constraint, Amounts, float]] = []
        for constraint, column in zip(constraints, ids, strict=True):
            skew = float(constraint.given.max_skew - 1)
            if constraint.tally.domains.key == HOSTNAME:
                alone.append((constraint, column, weight_of(int(np.count_nonzero(self._counted)))))
                # As a rule all have a name.
                total += skew if column.all() else np.where(column, skew, 0.0)
            else:
                table = _weighed(constraint.tally.counts, self._domains(constraint, column), skew)
                total += table.take(column)
        raw = _rounded(total)
        self._add_own(raw, total, alone, nodes)
        return raw

    def _domains(self, constraint: Constraint, column: Amounts) -> int:
        """How many values the nodes have that are to be told apart; those without any have one together."""
        among = column if self._counted.all() else column[self._counted]
        return int(np.count_nonzero(np.bincount(among, minlength=constraint.tally.domains.values + 1)))

    @staticmethod
    def _add_own(raw: Amounts, whole: Shares, alone: Sequence[tuple[Constraint, Amounts, float]], nodes: Nodes) -> None:
        """Each node's own pods, where it is a domain by itself: few nodes have any."""
        where = None if nodes.part is None else {row: index for index, row in enumerate(nodes.part)}
        more: dict[int, float] = {}
        for constraint, column, weight in alone:
            for row, amount in constraint.tally.amounts.items():
                index = row if where is None else where.get(row)
                if index is not None and column.item(index):
                    more[index] = more.get(index, 0.0) + weight * amount
        if more:
            rows = list(more)
            raw[rows] = _rounded(whole[rows] + np.fromiter(more.values(), np.float64, len(rows)))


def ranks(plan: SpreadPlan, nodes: Nodes, feasible: Flags) -> Amounts:
    """int64[size]: what a `Crowding` scores all in all.

    As a rule there is one topology beside the nodes themselves, and all nodes have all labels. Then nodes of one domain
    are equally crowded but for those that have pods of their own, and little is to be computed for each.
    """
    wide, alone = plan.wide, plan.alone
    usual = len(wide) == 1 and len(alone) <= 1 and nodes.part is None
    if not usual or any(each.tally.domains.lacking for each in (alone if not plan.every_key else plan.preferred)):
        crowding = Crowding(plan, nodes, feasible)
        return crowding.scores(crowding.raw)
    tally, skew = wide[0].tally, wide[0].given.max_skew
    ids = nodes.cut(tally.domains.ids)
    members = np.bincount(ids if feasible.all() else ids[feasible], minlength=tally.domains.values + 1)
    table = _weighed(tally.counts, int(np.count_nonzero(members)), skew - 1)
    own: dict[int, int] = {}
    if alone:
        weight = weight_of(int(members.sum()))
        table += float(alone[0].given.max_skew - 1)
        for row, amount in alone[0].tally.amounts.items():
            if row < len(feasible) and feasible.item(row):
                number = ids.item(row)
                own[row] = math.floor(table.item(number) + weight * amount + 0.5)
                members[number] -= 1
    raw = _rounded(table)
    degrees = [*raw[members > 0].tolist(), *own.values()]
    most, least = max(degrees, default=0), min(degrees, default=0)
    if not most:
        return np.full(len(ids), HIGHEST_SCORE, np.int64)
    found = ((most + least - raw) * HIGHEST_SCORE // most).take(ids)
    for row, degree in own.items():
        found[row] = (most + least - degree) * HIGHEST_SCORE // most
    return found


def weight_of(domains: int) -> float:
    """What a pod weighs in a topology of so many domains: more of them make it more."""
    return math.log(domains + 2)


def _weighed(counts: Amounts, domains: int, more: float) -> Shares:
    """float64 by domain: how crowded each is; 0 under 0."""
    table: Shares = counts.astype(np.float64)
    table *= weight_of(domains)
    table += more
    table[0] = 0.0
    return table


def _rounded(amounts: Shares) -> Amounts:
    return np.floor(amounts + 0.5).astype(np.int64)
