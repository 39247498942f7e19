"""What changed from one snapshot of a node table to the next."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

REMEMBERED = 512
"""Snapshots of which it is known what changed in them."""


class Changes:
    """Which rows changed from one snapshot to the next.

    Attributes:
        serial: Of the newest snapshot.
    """

    def __init__(self) -> None:
        self.serial = 0
        self._rows: deque[frozenset[int]] = deque(maxlen=REMEMBERED)

    def add(self, rows: Iterable[int]) -> None:
        """A new snapshot differs from the last in these rows."""
        self.serial += 1
        self._rows.append(frozenset(rows))

    def forget(self) -> None:
        """A new snapshot has nothing to do with the last."""
        self.serial += 1
        self._rows.clear()

    def since(self, serial: int) -> frozenset[int] | None:
        """The rows that changed after the snapshot of `serial`; None when that isn't known."""
        steps = self.serial - serial
        if steps > len(self._rows):
            return None
        if steps == 1:
            return self._rows[-1]
        return frozenset(row for step in range(1, steps + 1) for row in self._rows[-step])
