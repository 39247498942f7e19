"""The indexer: objects by key, and keys by what index functions make of the objects."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

Values = tuple[str, ...]
IndexFunction = Callable[[T], Values]

NAMESPACE = "namespace"
"""The index of the namespaces; kinds that have none make no use of it."""


class Indexer(Generic[T]):
    """A thread-safe map from keys (`namespace/name` or `name`) to objects, with indexes.

    What it returns is shared by everybody and must not be changed; lists are the caller's own.

    Args:
        indexes: By name, a function from an object to the values it is found under.
    """

    def __init__(self, indexes: Mapping[str, IndexFunction[T]] | None = None) -> None:
        self._lock = threading.RLock()
        self._objects: dict[str, T] = {}
        self._indexes: dict[str, _Index[T]] = {}
        self.add_indexes(indexes or {})

    def add_indexes(self, indexes: Mapping[str, IndexFunction[T]]) -> None:
        """Add indexes; what is cached already is found by them too.

        Raises:
            ValueError: There is one of that name.
        """
        with self._lock:
            if known := sorted(set(indexes) & set(self._indexes)):
                raise ValueError(f"there is an index {known[0]!r} already")
            for name, function in indexes.items():
                index = _Index(function)
                for key, obj in self._objects.items():
                    index.enter(key, function(obj))
                self._indexes[name] = index  # unless the function raised

    def get(self, key: str) -> T | None:
        return self._objects.get(key)

    def keys(self) -> list[str]:
        with self._lock:
            return list(self._objects)

    def values(self) -> list[T]:
        """All objects, in no particular order."""
        with self._lock:
            return list(self._objects.values())

    def by_index(self, name: str, value: str) -> list[T]:
        """The objects that index `name` has under `value`.

        Raises:
            KeyError: There is no such index.
        """
        with self._lock:
            return [self._objects[key] for key in self._indexes[name].keys.get(value, ())]

    def index_values(self, name: str) -> list[str]:
        """The values under which index `name` has objects."""
        with self._lock:
            return list(self._indexes[name].keys)

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: object) -> bool:
        return key in self._objects

    # --- for the informer

    def put(self, key: str, obj: T) -> T | None:
        """Add or replace an object; returns the one before."""
        with self._lock:
            return self.swap(key, obj)

    def swap(self, key: str, obj: T) -> T | None:
        """What `put` does, for one who holds the lock."""
        old = self._objects.get(key)
        moves: list[tuple[_Index[T], Values, Values]] = []
        # What a function raises is raised before anything is changed.
        for index in self._indexes.values():
            found = index.values_of(obj)
            before = () if old is None else index.values_of(old)
            if found != before:
                moves.append((index, before, found))
        self._objects[key] = obj
        for index, before, found in moves:
            if before:
                index.leave(key, before)
            index.enter(key, found)
        return old

    def delete(self, key: str) -> T | None:
        """Take an object out; returns it, or None when it isn't here."""
        with self._lock:
            old = self._objects.pop(key, None)
            if old is not None:
                for index in self._indexes.values():
                    index.leave(key, index.values_of(old))
            return old

    @property
    def lock(self) -> threading.RLock:
        """Held by one who changes many objects as one."""
        return self._lock


class _Index(Generic[T]):
    """Keys by what one function makes of their objects."""

    __slots__ = ("keys", "values_of")

    def __init__(self, values_of: IndexFunction[T]) -> None:
        self.values_of = values_of
        self.keys: dict[str, dict[str, None]] = {}

    def enter(self, key: str, values: Values) -> None:
        for value in values:
            same = self.keys.get(value)
            if same is None:
                same = self.keys[value] = {}
            same[key] = None

    def leave(self, key: str, values: Values) -> None:
        for value in values:
            same = self.keys.get(value)
            if same is not None:
                same.pop(key, None)
                if not same:
                    del self.keys[value]
