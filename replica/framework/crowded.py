"""Nodes that have room only until those come who were promised it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Amounts, Flags, Nodes
    from replica.framework.diagnosis import Diagnosis
    from replica.framework.promises import Promised

MOST_SAID: Final = 256
"""Diagnoses of single rows after which they are forgotten."""

ROOM: Final = -1
"""In place of a diagnosis: there is room for all of them."""


class Crowded:
    """How promised nodes stand for pods that are alike. A node is judged again when it or its promises changed."""

    def __init__(self, size: int) -> None:
        self._generation: Amounts = np.full(size, -1, np.int64)
        self._stamps: Amounts = np.zeros(size, np.int64)
        self._said: Amounts = np.full(size, ROOM, np.int64)
        self._numbers: dict[Hashable, int] = {}
        self._diagnoses: list[Diagnosis] = []
        self._rows: Flags = np.zeros(size, np.bool_)

    @property
    def size(self) -> int:
        return len(self._said)

    def among(
        self,
        feasible: Flags,
        nodes: Nodes,
        promised: Promised,
        judge: Callable[[int, Sequence[Pod]], Diagnosis | None],
    ) -> Flags:
        """bool[size]: those of the feasible rows where a pod doesn't fit beside those who were promised the node.

        Args:
            judge: Why it doesn't, of a row and these pods; None where it does.
        """
        asked = feasible & promised.rows
        stale = asked & ((self._generation != nodes.generation) | (self._stamps != promised.stamps))
        if len(self._diagnoses) > MOST_SAID:
            stale = asked
            self._numbers.clear()
            self._diagnoses.clear()
            self._generation.fill(-1)
        for row in np.flatnonzero(stale).tolist():
            self._said[row] = self._number(judge(row, promised.on(row)))
            self._generation[row], self._stamps[row] = nodes.generation[row], promised.stamps[row]
        self._rows = asked & (self._said != ROOM)
        return self._rows

    def diagnoses(self) -> Iterator[tuple[Diagnosis, Flags]]:
        """What was said of the rows that were found last, each with its rows (bool[size])."""
        for number in np.unique(self._said[self._rows]).tolist():
            yield self._diagnoses[number], self._rows & (self._said == number)

    def _number(self, found: Diagnosis | None) -> int:
        """The same for all of which the same is said."""
        if found is None:
            return ROOM
        key = (tuple(sorted(found.counts.items())), found.plugins, found.resolvable is None)
        number = self._numbers.setdefault(key, len(self._diagnoses))
        if number == len(self._diagnoses):
            self._diagnoses.append(found)
        return number
