"""The choice among the rows of a shelf once it is known how much each domain scores on top."""

from __future__ import annotations

from itertools import compress
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from replica.framework.shelves import draw_one

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

    from replica.framework.outlook import Apart
    from replica.framework.shelves import Shelf

NOBODY: Final[Mapping[Apart, list[int]]] = MappingProxyType({})
"""All rows are like their domains."""


class Ranked(NamedTuple):
    """What rows score on top, told by domains.

    Attributes:
        members: By domain, the rows that are feasible; some are.
        by_domain: By domain, what its rows score.
        apart: Rows that score otherwise than their domain.
        others: What those score, in the order of `apart`.
        weight: Of all these scores.
    """

    members: Sequence[int]
    by_domain: Sequence[int]
    apart: Mapping[Apart, list[int]]
    others: Sequence[int]
    weight: int

    def hidden(self, number: int) -> list[int]:
        """The rows of a domain that score otherwise."""
        return [row for (domain, _), rows in self.apart.items() if domain == number for row in rows]


def choose(shelf: Shelf, ranked: Ranked, draw: random.Random) -> tuple[int, int]:
    """The best row, of several one by chance, and what it scores."""
    best, score_of, weight = shelf.best, shelf.score, ranked.weight
    highest, leading = _leading(shelf, ranked)
    without: list[int] = []
    for ((number, _), rows), more in zip(ranked.apart.items(), ranked.others, strict=True):
        here = best[number]
        if here + more * weight >= highest:
            return _choose_among_all(shelf, ranked, draw)
        if number in leading:
            without += compress(rows, map(here.__eq__, map(score_of, rows)))
    lists = [shelf.top[number] for number in leading]
    if len(without) == sum(map(len, lists)):
        return _choose_among_all(shelf, ranked, draw)
    without.sort()
    return draw_one(lists, without, draw), highest


def _choose_among_all(shelf: Shelf, ranked: Ranked, draw: random.Random) -> tuple[int, int]:
    """The same where rows apart may be the best, or all that would be are apart."""
    found, best, score_of = _Best(), shelf.best, shelf.score
    _offer_all(shelf, ranked, found)
    for ((number, _), rows), more in zip(ranked.apart.items(), ranked.others, strict=True):
        if best[number] + more * ranked.weight >= found.score:
            for row in rows:
                found.offer_row(score_of(row) + more * ranked.weight, row)
    return found.draw(draw), found.score


def _leading(shelf: Shelf, ranked: Ranked) -> tuple[int, list[int]]:
    """What the best rows score if none is apart, and the domains that have such."""
    members, by_domain, _, _, weight = ranked
    top, best = shelf.top, shelf.best
    highest, leading = -1, []
    for number, count in enumerate(members):
        if not count:
            continue
        if not top[number]:
            shelf.find(number)
        score = best[number] + by_domain[number] * weight
        if score > highest:
            highest, leading = score, [number]
        elif score == highest:
            leading.append(number)
    return highest, leading


def _offer_all(shelf: Shelf, ranked: Ranked, found: _Best) -> None:
    """Offer the best of each domain but for the rows apart."""
    best = shelf.best
    for number, count in enumerate(ranked.members):
        more = ranked.by_domain[number] * ranked.weight
        if count and best[number] + more >= found.score:
            score, rows, without = _others(shelf, number, count, ranked.hidden(number))
            found.offer(score + more, rows, without)


def _others(shelf: Shelf, number: int, count: int, hidden: Sequence[int]) -> tuple[int, Sequence[int], Sequence[int]]:
    """The best of a domain's rows but for the hidden ones: what they score by themselves, rows, and those left out."""
    best, rows, score_of = shelf.best[number], shelf.top[number], shelf.score
    without = [row for row in hidden if score_of(row) == best]
    if len(without) < len(rows):
        return best, rows, without
    return (*shelf.best_without(number, hidden), ()) if count > len(hidden) else (best, (), ())


class _Best:
    """The rows that score highest among those offered.

    Attributes:
        score: -1 before there are any.
        lists: Ascending rows, of which some are left out.
    """

    __slots__ = ("_rows", "_without", "lists", "score")

    def __init__(self) -> None:
        self.score = -1
        self.lists: list[Sequence[int]] = []
        self._without: list[int] = []
        self._rows: list[int] = []

    def offer(self, score: int, rows: Sequence[int], without: Iterable[int]) -> None:
        """Ascending rows that all score as much, less some of them."""
        if rows and score >= self.score:
            if score > self.score:
                self._begin(score)
            self.lists.append(rows)
            self._without += without

    def offer_row(self, score: int, row: int) -> None:
        if score >= self.score:
            if score > self.score:
                self._begin(score)
            self._rows.append(row)

    def draw(self, draw: random.Random) -> int:
        """One of them."""
        lists = [*self.lists, sorted(self._rows)] if self._rows else self.lists
        return draw_one(lists, sorted(self._without), draw)

    def _begin(self, score: int) -> None:
        """What was offered before scores less."""
        self.score = score
        self.lists.clear()
        self._without.clear()
        self._rows.clear()
