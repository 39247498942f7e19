"""The diary of the workload lock-only: who acted by which token, line by line. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Beat:
    """One act under the lock."""

    token: int
    name: str


@dataclass(slots=True)
class Diary:
    """Reads what has been appended; the order of the lines is the order of the acts.

    Attributes:
        last: The newest beat; None: there is none yet.
        broken: How two acted at once, one line; "": they didn't.
    """

    last: Beat | None = None
    broken: str = ""
    _rest: bytes = field(default=b"")

    def read(self, data: bytes) -> Iterator[Beat]:
        """The beats of what was appended; a line that is not whole yet comes later."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            token, name = line.decode().split()
            beat = Beat(int(token), name)
            if self.last is not None and beat.token < self.last.token:
                self.broken = (
                    self.broken or f"{beat.name} acted by token {beat.token} after token {self.last.token} had begun"
                )
                continue
            self.last = beat
            yield beat
