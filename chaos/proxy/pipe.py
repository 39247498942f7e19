"""One direction of one connection: what was said and has not been passed on yet, and when it is due."""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import Final

CAPACITY: Final = 1 << 20
"""Bytes that one direction holds back. A source that says more is not listened to until there is room."""


class Ending(Enum):
    """How a side ended what it says: it is passed on in kind."""

    CLOSED = "closed"
    RESET = "reset"


class Pipe:
    """A queue that keeps its order, whatever delay each piece was given."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[float, bytes]] = deque()
        self._last = 0.0
        self.size = 0
        self.ending: Ending | None = None
        """How it ends, once all that came before has been passed on."""

    @property
    def has_room(self) -> bool:
        return self.size < CAPACITY

    def put(self, data: bytes, *, due: float) -> None:
        """Add what was said: not passed on before `due`, nor before what was said earlier."""
        self._last = max(self._last, due)
        self._pieces.append((self._last, data))
        self.size += len(data)

    def end(self, ending: Ending, *, due: float) -> None:
        """Nothing comes any more. A reset after a close counts."""
        self.ending = ending
        self._last = max(self._last, due)

    def hurry(self) -> None:
        """Nothing waits for its time any more."""
        self._pieces = deque((0.0, data) for _, data in self._pieces)
        self._last = 0.0

    def piece(self, now: float) -> bytes:
        """What may be passed on now; b"" if nothing is."""
        return self._pieces[0][1] if self._pieces and self._pieces[0][0] <= now else b""

    def passed(self, count: int) -> None:
        """So many bytes of `piece` have been passed on."""
        due, data = self._pieces[0]
        self.size -= count
        if count == len(data):
            self._pieces.popleft()
        else:
            self._pieces[0] = (due, data[count:])

    def is_over(self, now: float) -> bool:
        """Is everything passed on, so that the end is next?"""
        return self.ending is not None and not self._pieces and self._last <= now

    def due(self) -> float | None:
        """When something is to be passed on; None: there is nothing."""
        if self._pieces:
            return self._pieces[0][0]
        return self._last if self.ending is not None else None

    def clear(self) -> None:
        """Forget what was said."""
        self._pieces.clear()
        self.size = 0
