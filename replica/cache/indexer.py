"""The indexer: objects by key, and keys by what index functions make of the objects."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")

NAMESPACE = "namespace"
"""The index of the namespaces; kinds that have none make no use of it."""


class Indexer(Generic[T]):
    """A thread-safe map from keys (`namespace/name` or `name`) to objects, with indexes.

    What it returns is shared by everybody and must not be changed; lists are the caller's own.

    Args:
        indexes: By name, a function from an object to the values it is found under.
    """

    def __init__(self, indexes: Mapping[str, Callable[[T], Iterable[str]]] | None = None) -> None:
        self._lock = threading.RLock()
        self._objects: dict[str, T] = {}
        self._functions: dict[str, Callable[[T], Iterable[str]]] = {}
        self._indexes: dict[str, dict[str, dict[str, None]]] = {}
        self.add_indexes(indexes or {})

    def add_indexes(self, indexes: Mapping[str, Callable[[T], Iterable[str]]]) -> None:
        """Add indexes; what is cached already is found by them too.

        Raises:
            ValueError: There is one of that name.
        """
        with self._lock:
            if known := sorted(set(indexes) & set(self._functions)):
                raise ValueError(f"there is an index {known[0]!r} already")
            for name, function in indexes.items():
                # What a function raises is raised before anything is added.
                values = [(key, tuple(function(obj))) for key, obj in self._objects.items()]
                self._functions[name] = function
                self._indexes[name] = {}
                for key, found in values:
                    self._enter(name, key, found)

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
            return [self._objects[key] for key in self._indexes[name].get(value, ())]

    def index_values(self, name: str) -> list[str]:
        """The values under which index `name` has objects."""
        with self._lock:
            return list(self._indexes[name])

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: object) -> bool:
        return key in self._objects

    # --- for the informer

    def put(self, key: str, obj: T) -> T | None:
        """Add or replace an object; returns the one before."""
        with self._lock:
            old = self._objects.get(key)
            moves = []
            # What a function raises is raised before anything is changed.
            for name, function in self._functions.items():
                found = tuple(function(obj))
                before = tuple(function(old)) if old is not None else ()
                if before != found:
                    moves.append((name, before, found))
            self._objects[key] = obj
            for name, before, found in moves:
                self._leave(name, key, before)
                self._enter(name, key, found)
            return old

    def delete(self, key: str) -> T | None:
        """Take an object out; returns it, or None when it isn't here."""
        with self._lock:
            old = self._objects.pop(key, None)
            if old is not None:
                for name, function in self._functions.items():
                    self._leave(name, key, function(old))
            return old

    @property
    def lock(self) -> threading.RLock:
        """Held by one who changes many objects as one."""
        return self._lock

    def _enter(self, name: str, key: str, values: Iterable[str]) -> None:
        index = self._indexes[name]
        for value in values:
            index.setdefault(value, {})[key] = None

    def _leave(self, name: str, key: str, values: Iterable[str]) -> None:
        index = self._indexes[name]
        for value in values:
            keys = index.get(value)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del index[value]
