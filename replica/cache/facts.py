"""What follows from the nodes themselves, not from their pods, as columns: made when asked for, kept up by row."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol, TypeVar

from replica.cache.amount_column import AmountColumn
from replica.cache.image_column import AnyImages, ImageColumn
from replica.cache.label_column import LabelColumn
from replica.cache.taint_column import TaintColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from replica.api.nodes import Node
    from replica.cache.arrays import Amounts
    from replica.cache.changes import Changes

KEPT = 512
"""Columns kept; the one asked for longest ago goes first."""


class _Column(Protocol):
    @property
    def overgrown(self) -> bool: ...

    def enter(self, row: int, node: Node | None) -> None: ...


C = TypeVar("C", bound=_Column)


class Facts:
    """Columns over all rows of a snapshot, for the one who reads it.

    Args:
        objects: The nodes by row.
        allocatable: int64[lane, row].
        changes: Of the nodes alone, from one snapshot to the next.

    Attributes:
        changes: The same.
    """

    def __init__(self, objects: Sequence[Node | None], allocatable: Amounts, changes: Changes) -> None:
        self._objects = objects
        self._allocatable = allocatable
        self.changes = changes
        self._serial = changes.serial
        self._columns: OrderedDict[Hashable, _Column] = OrderedDict()

    def amount(self, lane: int) -> AmountColumn:
        return self._get(lane, AmountColumn, lambda _: AmountColumn(self._allocatable[lane]))

    def label(self, key: str) -> LabelColumn:
        return self._get(("label", key), LabelColumn, lambda rows: LabelColumn(key, rows))

    def taints(self) -> TaintColumn:
        return self._get("taints", TaintColumn, TaintColumn)

    def image(self, name: str) -> ImageColumn:
        return self._get(("image", name), ImageColumn, lambda rows: ImageColumn(name, rows))

    def any_images(self) -> bool:
        """Does any node tell of any image?"""
        return bool(self._get("images", AnyImages, lambda _: AnyImages()))

    def _get(self, key: Hashable, kind: type[C], make: Callable[[int], C]) -> C:
        if self._serial != self.changes.serial:
            self._renew()
        found = self._columns.get(key)
        if not isinstance(found, kind) or found.overgrown:
            found = make(len(self._objects))
            for row, node in enumerate(self._objects):
                found.enter(row, node)
            self._columns[key] = found
            if len(self._columns) > KEPT:
                self._columns.popitem(last=False)
        self._columns.move_to_end(key)
        return found

    def _renew(self) -> None:
        changed = self.changes.since(self._serial)
        self._serial = self.changes.serial
        rows = range(len(self._objects)) if changed is None else changed
        for column in self._columns.values():
            for row in rows:
                column.enter(row, self._objects[row])
