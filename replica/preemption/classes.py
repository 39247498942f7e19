"""The priority classes as the informer shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from replica.api.priority import Classes, PriorityClass


class ClassWatch:
    """A handler of the priority classes' informer.

    Args:
        changed: Called after each change: pods that wait may have come before the class that they name.
    """

    def __init__(self, classes: Classes, changed: Callable[[], object]) -> None:
        self._classes = classes
        self._changed = changed

    def on_add(self, obj: PriorityClass, *, initial: bool) -> None:  # noqa: ARG002  # the first list is no different
        self._classes.put(obj)
        self._changed()

    def on_update(self, old: PriorityClass, new: PriorityClass) -> None:  # noqa: ARG002  # what it was is over
        self._classes.put(new)
        self._changed()

    def on_delete(self, obj: PriorityClass, *, stale: bool) -> None:  # noqa: ARG002  # gone is gone
        self._classes.remove(obj.name)
        self._changed()
