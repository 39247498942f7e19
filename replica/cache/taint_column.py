"""The taints of all nodes as a column of small numbers: nodes with the same taints have the same one."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from replica.api.taints import PREFER_NO_SCHEDULE

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from numpy.typing import NDArray

    from replica.api.nodes import Node
    from replica.api.taints import Taint
    from replica.cache.arrays import Amounts

SLACK = 1024
"""Sets kept beyond as many as there are rows, before those that no node has any more are let go."""

KEPT = 256
"""Answers remembered for as many askers."""


class TaintColumn:
    """Sets of taints, numbered as they come; 0 is the empty one.

    Attributes:
        ids: int32[rows].
        sets: The taints by number, in the order in which the node has them.
        hard: How many nodes have a taint that keeps pods off.
        soft: How many nodes have a taint that only asks them to stay away.
    """

    def __init__(self, rows: int) -> None:
        self.ids: NDArray[np.int32] = np.zeros(rows, np.int32)
        self.sets: list[tuple[Taint, ...]] = [()]
        self.hard = 0
        self.soft = 0
        self._numbers: dict[tuple[Taint, ...], int] = {(): 0}
        self._kinds: list[tuple[bool, bool]] = [(False, False)]
        self._answers: OrderedDict[Hashable, Amounts] = OrderedDict()

    @property
    def overgrown(self) -> bool:
        """Is it time to number the sets anew?"""
        return len(self.sets) > len(self.ids) + SLACK

    def enter(self, row: int, node: Node | None) -> None:
        """This is the row's node now."""
        taints = () if node is None else node.taints
        number = self._numbers.get(taints)
        if number is None:
            number = self._numbers[taints] = len(self.sets)
            self.sets.append(taints)
            soft = [taint.effect == PREFER_NO_SCHEDULE for taint in taints]
            self._kinds.append((not all(soft), any(soft)))
        before = self.ids.item(row)
        if number != before:
            self.hard += self._kinds[number][0] - self._kinds[before][0]
            self.soft += self._kinds[number][1] - self._kinds[before][1]
            self.ids[row] = number

    def answers(self, asker: Hashable, ask: Callable[[tuple[Taint, ...]], int]) -> Amounts:
        """int64 by number of a set: what `ask` says of it, asked once for each.

        Args:
            asker: What the answers depend on besides the set.
        """
        known = self._answers.get(asker)
        if known is None:
            known = np.zeros(0, np.int64)
            if len(self._answers) == KEPT:
                self._answers.popitem(last=False)
        if len(known) < len(self.sets):
            more = [ask(taints) for taints in self.sets[len(known) :]]
            known = self._answers[asker] = np.concatenate((known, np.array(more, np.int64)))
        self._answers.move_to_end(asker)
        return known
