"""How many pods come when. Pure: offsets in seconds from the beginning, without end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


class Pace(Protocol):
    """A stream of pods."""

    def arrivals(self) -> Iterator[tuple[float, int]]:
        """When so many pods come: offsets that never fall, and counts of at least 1."""
        ...


@dataclass(frozen=True, slots=True)
class Steady:
    """One pod after the other, `rate` of them in a second."""

    rate: float

    def arrivals(self) -> Iterator[tuple[float, int]]:
        for number in count():
            yield number / self.rate, 1


@dataclass(frozen=True, slots=True)
class Bursts:
    """`size` pods at once, `every` so many seconds."""

    size: int
    every: float

    def arrivals(self) -> Iterator[tuple[float, int]]:
        for number in count():
            yield number * self.every, self.size
