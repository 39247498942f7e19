"""The best rows of a standing, kept for each domain of a topology."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from itertools import count as count_from
from typing import TYPE_CHECKING, Final

import numpy as np

from replica.framework.residents import Residents

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence

    from replica.cache.domains import Domains
    from replica.cache.nodes import Amounts, Nodes
    from replica.framework.outlook import Apart, Bar
    from replica.framework.standing import Standing

KEPT: Final = 64
"""Shelves remembered, the least recently used one forgotten first."""

KEPT_RESIDENTS: Final = 256
"""For how many counts a shelf remembers which rows are judged apart."""

MOST_ONE_BY_ONE: Final = 48
"""Rows that are entered one by one; when more have changed it costs less to look at all."""


SOON: Final = 8
"""Steps after which a row that is looked for in its place should be found."""


class Shelf:
    """The rows of one standing, less those that bars refuse, by domain; the best of each domain are at hand.

    Args:
        domains: None: all rows are of domain 0.

    Attributes:
        where: By row, the domain of a feasible one; -1 for others.
        members: By domain, how many rows are feasible.
        best: By domain, the highest score of a feasible row; -1 where there is none, or where it isn't known.
        top: By domain, the rows that have it, ascending.
    """

    __slots__ = (
        *("_bars", "_column", "_domains", "_epoch", "_residents", "_serial", "_standing"),
        *("best", "members", "top", "where"),
    )

    def __init__(self, standing: Standing, domains: Domains | None, bars: Sequence[Bar]) -> None:
        self._standing = standing
        self._domains = domains
        self._bars = bars
        self._serial = self._epoch = -1
        self._residents: OrderedDict[int, Residents] = OrderedDict()
        self._column: Amounts = np.zeros(0, np.int64)
        self.where = self._column.data
        self.members: list[int] = []
        self.best: list[int] = []
        self.top: list[list[int]] = []

    def renew(self, nodes: Nodes) -> None:
        """Bring it up to date with a standing and a census that are."""
        changed = nodes.changes.since(self._serial) if self._serial >= 0 else None
        self._serial = nodes.changes.serial
        if changed is None or len(changed) > MOST_ONE_BY_ONE or self._epoch != self._standing.epoch:
            self._look_over(nodes)
        else:
            self._widen()
            for row in changed:
                self._enter(row)

    def find(self, number: int) -> None:
        """Find the best of a domain, where they aren't known."""
        if self.members[number] and not self.top[number]:
            scores = self._scores_of(number)
            best = self.best[number] = int(scores.max())
            self.top[number] = np.flatnonzero(scores == best).tolist()

    def apart(self, rows: Mapping[int, int], nodes: Nodes) -> Mapping[Apart, list[int]]:
        """The feasible ones of some rows, by domain and by what is counted there. Once it is up to date."""
        found = self._residents.get(id(rows))  # which it keeps, so that no other has this id
        if found is None:
            found = self._residents[id(rows)] = Residents(rows)
            if len(self._residents) > KEPT_RESIDENTS:
                self._residents.popitem(last=False)
        return found.renew(nodes, self.where)

    def best_without(self, number: int, rows: Sequence[int]) -> tuple[int, list[int]]:
        """The highest score in a domain, and the rows that have it, ascending, if these are left out but not all."""
        scores = self._scores_of(number)
        scores[list(rows)] = -1
        best = int(scores.max())
        return best, np.flatnonzero(scores == best).tolist()

    @property
    def score(self) -> Callable[[int], int]:
        """What a row scores, by itself."""
        return self._standing.scores.item

    # --- parts

    def _scores_of(self, number: int) -> Amounts:
        """int64[size]: -1 for rows that aren't feasible, or of another domain."""
        return np.where(self._column == number, self._standing.scores, np.int64(-1))

    def _look_over(self, nodes: Nodes) -> None:
        self._epoch = self._standing.epoch
        feasible = self._standing.feasible.copy()
        for tally, most in self._bars:
            rows = [row for row, amount in tally.amounts.items() if amount > most and tally.domains.counted.item(row)]
            feasible[rows] = False
        ids = np.zeros(nodes.size, np.int64) if self._domains is None else self._domains.ids[: nodes.size]
        self._column = np.where(feasible, ids, np.int64(-1))
        self.where = self._column.data
        values = 0 if self._domains is None else self._domains.values
        self.members = np.bincount(ids[feasible], minlength=values + 1).tolist()
        self.best, self.top = [-1 for _ in self.members], [[] for _ in self.members]

    def _widen(self) -> None:
        """There may be domains that weren't there before."""
        while self._domains is not None and len(self.members) <= self._domains.values:
            self.members.append(0)
            self.best.append(-1)
            self.top.append([])

    def _enter(self, row: int) -> None:
        """A row may stand otherwise now."""
        before = self.where[row]
        if before >= 0:
            self._leave(row, before)
        fits = self._standing.feasible.item(row) and not any(
            tally.amounts.get(row, 0) > most and tally.domains.counted.item(row) for tally, most in self._bars
        )
        number = -1 if not fits else 0 if self._domains is None else self._domains.ids.item(row)
        self.where[row] = number
        if number < 0:
            return
        self.members[number] += 1
        top, score = self.top[number], self._standing.scores.item(row)
        if self.members[number] == 1 or (top and score > self.best[number]):
            self.best[number], self.top[number] = score, [row]
        elif top and score == self.best[number]:
            insort(top, row)

    def _leave(self, row: int, number: int) -> None:
        self.members[number] -= 1
        top = self.top[number]
        place = bisect_left(top, row)
        if place < len(top) and top[place] == row:
            del top[place]


class Shelves:
    """Those used last."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._by_key: OrderedDict[tuple[Standing, Domains | None, tuple[Bar, ...]], Shelf] = OrderedDict()

    def get(self, standing: Standing, domains: Domains | None, bars: tuple[Bar, ...], nodes: Nodes) -> Shelf:
        """The shelf of a standing that is up to date, as is the census; made if there is none."""
        key = (standing, domains, bars)
        found = self._by_key.get(key)
        if found is None:
            found = self._by_key[key] = Shelf(standing, domains, bars)
            if len(self._by_key) > self._kept:
                self._by_key.popitem(last=False)
        else:
            self._by_key.move_to_end(key)
        found.renew(nodes)
        return found


def draw_one(lists: Sequence[Sequence[int]], without: Sequence[int], draw: random.Random) -> int:
    """One of the rows of these ascending lists, as if they were one: which draws the same of the same rows.

    Args:
        without: Rows of the lists, ascending, that are left out.
    """
    count = sum(map(len, lists)) - len(without)
    wanted = draw.randrange(count) if count > 1 else 0
    if len(lists) == 1:
        rows = lists[0]
        for row in without:
            wanted += bisect_left(rows, row) <= wanted
        return rows[wanted]
    low, high, below, up_to = min([each[0] for each in lists]), max([each[-1] for each in lists]), 0, count
    for step in count_from(0):
        if low == high:
            break
        # Rows lie evenly, as a rule: so the row is soon found where it should be. Where they don't, halving finds it.
        ahead = (high - low) * (wanted - below) // (up_to - below) if step < SOON else (high - low) // 2
        middle = low + ahead
        there = -bisect_right(without, middle)
        for each in lists:
            there += bisect_right(each, middle)
        if there > wanted:
            high, up_to = middle, there
        else:
            low, below = middle + 1, there
    return low
