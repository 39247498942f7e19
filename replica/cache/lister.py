"""Listers: reading a kind's cache by name, namespace and condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from replica.cache.indexer import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Callable

    from replica.cache.indexer import Indexer

T = TypeVar("T")


class Lister(Generic[T]):
    """Reads a cache; what it returns is shared and must not be changed."""

    def __init__(self, indexer: Indexer[T]) -> None:
        self._indexer = indexer

    def list(self, where: Callable[[T], bool] | None = None) -> list[T]:
        """All objects, or those for which `where` is true (such as a selector's match)."""
        found = self._indexer.values()
        return found if where is None else [obj for obj in found if where(obj)]

    def get(self, name: str, namespace: str = "") -> T | None:
        """One object; None when the cache has none of that name."""
        return self._indexer.get(f"{namespace}/{name}" if namespace else name)

    def namespaced(self, namespace: str) -> NamespaceLister[T]:
        """The objects of one namespace."""
        return NamespaceLister(self._indexer, namespace)


class NamespaceLister(Generic[T]):
    """Reads one namespace of a cache."""

    def __init__(self, indexer: Indexer[T], namespace: str) -> None:
        self._indexer = indexer
        self._namespace = namespace

    def list(self, where: Callable[[T], bool] | None = None) -> list[T]:
        found = self._indexer.by_index(NAMESPACE, self._namespace)
        return found if where is None else [obj for obj in found if where(obj)]

    def get(self, name: str) -> T | None:
        return self._indexer.get(f"{self._namespace}/{name}")
