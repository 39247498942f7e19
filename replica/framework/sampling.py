"""`percentageOfNodesToScore`: when enough nodes have been found that can take a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from replica.cache.nodes import Flags

FEWEST: Final = 100
"""So many are looked for at least."""

LOWEST_PERCENTAGE: Final = 5


def enough(percentage: int | None, nodes: int) -> int:
    """How many nodes that can take a pod are enough, of so many.

    Args:
        percentage: Of all nodes; 0: 50, less one for each 125 nodes, but 5 at least; None: all.
    """
    if percentage is None or percentage >= 100 or nodes < FEWEST:
        return nodes
    share = percentage or max(LOWEST_PERCENTAGE, 50 - nodes // 125)
    return max(FEWEST, nodes * share // 100)


class Sampling:
    """Takes the first nodes that can take a pod, and begins the next look where the last one ended.

    All nodes are filtered all the same, since a pass over columns costs less than to stop it; what a sample saves is
    scoring. So by default there is none.
    """

    def __init__(self, percentage: int | None) -> None:
        self._percentage = percentage
        self._start = 0

    def applies(self, nodes: int) -> bool:
        """Can there be more feasible nodes than are enough?"""
        return enough(self._percentage, nodes) < nodes

    def cut(self, feasible: Flags, nodes: int) -> Flags:
        """bool[size]: of the feasible rows those that are enough."""
        most = enough(self._percentage, nodes)
        rows = np.flatnonzero(feasible)
        if rows.size <= most:
            return feasible
        kept = np.roll(rows, -int(np.searchsorted(rows, self._start)))[:most]
        self._start = (int(kept[-1]) + 1) % feasible.size
        flags = np.zeros(feasible.size, np.bool_)
        flags[kept] = True
        return flags
