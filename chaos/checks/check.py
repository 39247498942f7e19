"""A check: a name, what it holds a run to, and the pure functions that find where the run broke it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from chaos.checks.violation import Violation
    from chaos.record import Record

    Finder = Callable[[Record], Iterable[Violation]]


@dataclass(frozen=True, slots=True)
class Check:
    """One promise, judged.

    Attributes:
        name: As scenarios and journals call it, such as `fenced-writes`.
        promise: One line for people.
        finders: Each finds one kind of breach in a record. Pure: the same record has always the same violations.
    """

    name: str
    promise: str
    finders: tuple[Finder, ...]

    def __call__(self, record: Record) -> tuple[Violation, ...]:
        """Every breach, by revision and moment."""
        found = chain.from_iterable(finder(record) for finder in self.finders)
        return tuple(sorted(found, key=lambda violation: violation.place))
