"""Topology domains: which nodes have which value of a label, and whose pods count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from replica.api.nodes import Node
    from replica.cache.arrays import Amounts, Flags

LEAST = 64


class Follower(Protocol):
    """Who counts by domains: `replica.cache.tally.Tally`."""

    def move(self, row: int, before: int, after: int) -> None:
        """A row's node is in another domain now; 0 is none."""
        ...


class Domains:
    """The values of a label, numbered from 1 as they come; 0 is for nodes without it.

    Args:
        eligible: The nodes whose pods count; None: all of them.

    Attributes:
        ids: int64[at least as many as rows].
        counted: bool[as many]: is the row's node eligible?
        members: int64[at least as many as values + 1]: how many eligible nodes have each value.
        values: How many values were seen; one that no node has any more has no members.
        alive: How many of them have members.
        shared: How many of them several nodes have, eligible or not.
        lacking: The rows of nodes without the label.
        tallies: Who counts pods by them.
        version: Grows with each node that is looked at anew.
    """

    def __init__(self, key: str, eligible: Callable[[Node], bool] | None = None) -> None:
        self.key = key
        self._eligible = eligible
        self._numbers: dict[str, int] = {}
        self.ids: Amounts = np.zeros(LEAST, np.int64)
        self.counted: Flags = np.zeros(LEAST, np.bool_)
        self.members: Amounts = np.zeros(LEAST, np.int64)
        self._holders: Amounts = np.zeros(LEAST, np.int64)
        self.version = 0
        self.alive = 0
        self.shared = 0
        self.lacking: set[int] = set()
        self.tallies: WeakSet[Follower] = WeakSet()

    @property
    def values(self) -> int:
        return len(self._numbers)

    @property
    def present(self) -> Flags:
        """bool[values + 1]: the values that an eligible node has."""
        found: Flags = self.members[: self.values + 1] > 0
        return found

    def enter(self, row: int, node: Node | None) -> None:
        """This is the row's node now."""
        self.version += 1
        if row >= len(self.ids):
            self.ids, self.counted = grown(self.ids, row + 1), grown(self.counted, row + 1)
        value = None if node is None else node.labels.get(self.key)
        number = 0 if value is None else self._numbers.setdefault(value, len(self._numbers) + 1)
        counted = node is not None and number > 0 and (self._eligible is None or self._eligible(node))
        if number or node is None:
            self.lacking.discard(row)
        else:
            self.lacking.add(row)
        held = self.ids.item(row)
        if held != number:
            self._hold(held, number)
        before = held if self.counted.item(row) else 0
        after = number if counted else 0
        self.ids[row], self.counted[row] = number, counted
        if before == after:
            return
        if after >= len(self.members):
            self.members = grown(self.members, after + 1)
        if before:
            self.members[before] -= 1
            self.alive -= not self.members.item(before)
        if after:
            self.alive += not self.members.item(after)
            self.members[after] += 1
        for tally in self.tallies:
            tally.move(row, before, after)

    def _hold(self, before: int, after: int) -> None:
        """A node has another value; 0 is none."""
        if after >= len(self._holders):
            self._holders = grown(self._holders, after + 1)
        if before:
            self._holders[before] -= 1
            self.shared -= self._holders.item(before) == 1
        if after:
            self._holders[after] += 1
            self.shared += self._holders.item(after) == 2


def grown(column: np.ndarray[tuple[int], np.dtype[np.generic]], least: int) -> Any:
    """A copy with room for more, 0 at the end."""
    made = np.zeros(max(least, 2 * len(column)), column.dtype)
    made[: len(column)] = column
    return made
