"""One container image on all nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from replica.api.nodes import Node
    from replica.cache.arrays import Amounts


class ImageColumn:
    """Who has an image, and how large it is there.

    Attributes:
        sizes: int64[rows], in bytes, 0 where the node doesn't have it; None where nobody has.
        holders: How many nodes have it.
    """

    overgrown = False

    def __init__(self, name: str, rows: int) -> None:
        self._name = name
        self._rows = rows
        self.sizes: Amounts | None = None
        self.holders = 0
        self._has: set[int] = set()

    def enter(self, row: int, node: Node | None) -> None:
        """This is the row's node now."""
        size = None if node is None else node.images.get(self._name)
        if size is None:
            if row not in self._has:
                return
            self._has.discard(row)
        else:
            self._has.add(row)
            if self.sizes is None:
                self.sizes = np.zeros(self._rows, np.int64)
        if self.sizes is not None:
            self.sizes[row] = size or 0
        self.holders = len(self._has)
        if not self.holders:
            self.sizes = None


class AnyImages:
    """Which nodes tell of any images at all."""

    overgrown = False

    def __init__(self) -> None:
        self._rows: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._rows)

    def enter(self, row: int, node: Node | None) -> None:
        """This is the row's node now."""
        if node is not None and node.images:
            self._rows.add(row)
        else:
            self._rows.discard(row)
