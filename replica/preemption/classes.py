"""The priority classes as the informer shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replica.api.priority import Classes, PriorityClass


class ClassWatch:
    """A handler of the priority classes' informer."""

    def __init__(self, classes: Classes) -> None:
        self._classes = classes

    def on_add(self, obj: PriorityClass, *, initial: bool) -> None:  # noqa: ARG002  # the first list is no different
        self._classes.put(obj)

    def on_update(self, old: PriorityClass, new: PriorityClass) -> None:  # noqa: ARG002  # what it was is over
        self._classes.put(new)

    def on_delete(self, obj: PriorityClass, *, stale: bool) -> None:  # noqa: ARG002  # gone is gone
        self._classes.remove(obj.name)
