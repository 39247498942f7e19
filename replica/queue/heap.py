"""A heap whose items have keys, so that they can be replaced and taken out."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

SLACK = 64
"""Dead entries tolerated beside as many dead as live ones before the heap is rebuilt."""


class Heap(Generic[T]):
    """Items by key, the one with the smallest order first; among equals the one that came first.

    An item replaced or deleted leaves a dead entry behind, which is skipped when it surfaces; so every change costs a
    push at most, and `heapq` compares in C. Not thread-safe: its owner has the lock.

    Args:
        key: Names an item; adding one with a known name replaces it.
        order: What items are compared by, such as a tuple. It is read once, when the item is added.
    """

    def __init__(self, key: Callable[[T], str], order: Callable[[T], Any]) -> None:
        self._key = key
        self._order = order
        self._entries: list[tuple[Any, int, str]] = []
        self._live: dict[str, tuple[Any, int, T]] = {}
        self._count = 0

    def add(self, item: T) -> None:
        """Insert an item, or replace the one of its key, which keeps its turn when its order is the same."""
        key, order = self._key(item), self._order(item)
        known = self._live.get(key)
        if known is not None and known[0] == order:
            self._live[key] = (order, known[1], item)
            return
        self._count += 1
        self._live[key] = (order, self._count, item)
        heapq.heappush(self._entries, (order, self._count, key))
        if len(self._entries) > 2 * len(self._live) + SLACK:
            self._entries = [(order, count, key) for key, (order, count, _) in self._live.items()]
            heapq.heapify(self._entries)

    def delete(self, key: str) -> T | None:
        """Take an item out by its key; None when it isn't here."""
        known = self._live.pop(key, None)
        return None if known is None else known[2]

    def peek(self) -> T | None:
        """The first item, which stays; None when empty."""
        key = self._first()
        return None if key is None else self._live[key][2]

    def pop(self) -> T | None:
        """Take the first item out; None when empty."""
        key = self._first()
        if key is None:
            return None
        heapq.heappop(self._entries)
        return self._live.pop(key)[2]

    def get(self, key: str) -> T | None:
        known = self._live.get(key)
        return None if known is None else known[2]

    def __contains__(self, key: object) -> bool:
        return key in self._live

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[T]:
        """The items in no particular order."""
        return (item for _, _, item in self._live.values())

    def _first(self) -> str | None:
        """The key of the first live entry, with the dead ones before it dropped."""
        while self._entries:
            _, count, key = self._entries[0]
            known = self._live.get(key)
            if known is not None and known[1] == count:
                return key
            heapq.heappop(self._entries)
        return None
