"""One label of all nodes as a column of small numbers, so that an expression is a comparison of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replica.api.selectors import integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from replica.api.nodes import Node
    from replica.api.selectors import Requirement
    from replica.cache.arrays import Flags

SLACK = 1024
"""Values kept beyond as many as there are rows, before those that no node has any more are let go."""


class LabelColumn:
    """The values of a label, numbered from 1 as they come; 0 is for nodes without it."""

    def __init__(self, key: str, rows: int) -> None:
        self._key = key
        self._ids: NDArray[np.int32] = np.zeros(rows, np.int32)
        self._values: dict[str, int] = {}

    @property
    def overgrown(self) -> bool:
        """Is it time to number the values anew?"""
        return len(self._values) > len(self._ids) + SLACK

    def enter(self, row: int, node: Node | None) -> None:
        """This is the row's node now."""
        value = None if node is None else node.labels.get(self._key)
        self._ids[row] = 0 if value is None else self._values.setdefault(value, len(self._values) + 1)

    def match(self, requirement: Requirement) -> Flags:
        """bool[rows]: where an expression on this label holds; false where it means nothing."""
        match requirement.operator:
            case "In":
                return self._among(requirement.values)
            case "NotIn":
                return ~self._among(requirement.values)
            case "Exists":
                return self._with_id(0, holds=False)
            case "DoesNotExist":
                return self._with_id(0)
            case "Gt" | "Lt" if len(requirement.values) == 1:
                bound = integer(requirement.values[0])
                if bound is not None:
                    return self._compared(bound, above=requirement.operator == "Gt")
        return np.zeros(len(self._ids), np.bool_)

    def _with_id(self, number: int, *, holds: bool = True) -> Flags:
        found: Flags = self._ids == number
        return found if holds else ~found

    def _among(self, values: tuple[str, ...]) -> Flags:
        known = [number for value in values if (number := self._values.get(value))]
        if not known:
            return np.zeros(len(self._ids), np.bool_)
        if len(known) == 1:
            return self._with_id(known[0])
        table = np.zeros(len(self._values) + 1, np.bool_)
        table[known] = True
        chosen: Flags = table.take(self._ids)
        return chosen

    def _compared(self, bound: int, *, above: bool) -> Flags:
        table = np.zeros(len(self._values) + 1, np.bool_)
        for value, number in self._values.items():
            amount = integer(value)
            table[number] = amount is not None and (amount > bound if above else amount < bound)
        chosen: Flags = table.take(self._ids)
        return chosen
