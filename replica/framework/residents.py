"""The rows of a shelf that are judged apart from their domains, since something is counted there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replica.cache.nodes import Nodes
    from replica.framework.outlook import Apart


class Residents:
    """Those of one shelf by domain and amount; kept up row by row, since one placement changes one row.

    Args:
        rows: What is counted on each row that has anything, such as `Tally.amounts`: it changes only for rows that
            change in the table.

    Attributes:
        groups: The feasible ones.
    """

    __slots__ = ("_at", "_rows", "_serial", "groups")

    def __init__(self, rows: Mapping[int, int]) -> None:
        self._rows = rows
        self._serial = -1
        self._at: dict[int, Apart] = {}
        self.groups: dict[Apart, list[int]] = {}

    def renew(self, nodes: Nodes, where: Sequence[int]) -> Mapping[Apart, list[int]]:
        """Bring them up to date with their shelf.

        Args:
            where: The shelf's: by row, the domain of a feasible one; -1 for others.
        """
        changed = nodes.changes.since(self._serial) if self._serial >= 0 else None
        self._serial = nodes.changes.serial
        rows: Iterable[int]
        if changed is None or len(changed) > len(self._rows):
            self._at.clear()
            self.groups.clear()
            rows = self._rows
        else:
            rows = changed
        for row in rows:
            self._enter(row, where)
        return self.groups

    def _enter(self, row: int, where: Sequence[int]) -> None:
        """A row may be of another group now, or of none."""
        at, groups = self._at, self.groups
        before = at.pop(row, None)
        if before is not None:
            there = groups[before]
            there.remove(row)
            if not there:
                del groups[before]
        amount = self._rows.get(row)
        if amount is None:
            return
        number = where[row] if row < len(where) else -1
        if number >= 0:
            group = at[row] = (number, amount)
            if group in groups:
                groups[group].append(row)
            else:
                groups[group] = [row]
