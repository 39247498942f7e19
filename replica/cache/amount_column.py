"""What all nodes have of one resource, in floating point: divisions by it are three times as fast as of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from replica.api.nodes import Node
    from replica.cache.arrays import Amounts, Shares

EXACT: Final = 1 << 46
"""Up to this amount (64 TiB) whole percents are the same in floating point as in integers.

A quotient that is no whole number is off the next one by 1/amount at least, which is more than what rounding can add.
"""


class AmountColumn:
    """A lane of the table's `allocatable`.

    Attributes:
        whole: float64[rows], 1 where the row has nothing of it, so that it can be divided by.
    """

    overgrown = False

    def __init__(self, allocatable: Amounts) -> None:
        self._allocatable = allocatable
        self.whole: Shares = np.maximum(allocatable, 1).astype(np.float64)
        self._lacking = set(np.flatnonzero(allocatable < 1).tolist())
        self._largest = int(allocatable.max(initial=0))

    @property
    def everywhere(self) -> bool:
        """Has each row some of it? No, if in doubt."""
        return not self._lacking

    @property
    def exact(self) -> bool:
        """Are percents exact in floating point?"""
        return self._largest <= EXACT

    def enter(self, row: int, _node: Node | None) -> None:
        """The row's node changed."""
        amount = self._allocatable.item(row)
        self.whole[row] = max(amount, 1)
        self._largest = max(self._largest, amount)
        if amount:
            self._lacking.discard(row)
        else:
            self._lacking.add(row)
