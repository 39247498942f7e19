"""What scores read of a pod, told for each demand once: pods of one template ask for the same, row after row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from replica.cache.occupancy import Demand

T = TypeVar("T")

KEPT: Final = 1024
"""Demands remembered."""


class ByDemand(Generic[T]):
    """The terms of a score by demand and lanes.

    Args:
        terms: Makes them.
    """

    def __init__(self, terms: Callable[[Demand, Mapping[str, int]], Iterable[T]]) -> None:
        self._terms = terms
        self._lanes: Mapping[str, int] | None = None
        self._known: dict[Demand, tuple[T, ...]] = {}

    def of(self, demand: Demand, lanes: Mapping[str, int]) -> tuple[T, ...]:
        """The terms.

        Args:
            lanes: A node table's, as `Nodes.lanes`: they are another mapping when there are more of them.
        """
        if lanes is not self._lanes or len(self._known) > KEPT:
            self._lanes = lanes
            self._known.clear()
        found = self._known.get(demand)
        if found is None:
            found = self._known[demand] = tuple(self._terms(demand, lanes))
        return found
