"""One link inside the proxy: its rule, its connections, and what was done to them."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from chaos.proxy.counters import Counters
from chaos.proxy.rule import Direction, Mode

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.proxy.link import Link
    from chaos.proxy.rule import DropReply
    from chaos.proxy.rulebook import Hold, Rulebook

Address = tuple[str, int]


class Conduct(Protocol):
    """One connection of a link."""

    def obey(self, lifted: Hold | None) -> None:
        """The rule may have changed; this hold was lifted."""
        ...

    def held(self, way: Direction) -> int:
        """Bytes held back."""
        ...

    def reset(self) -> None:
        """End it."""
        ...


class Route:
    """One link. It is what its connections ask what to do."""

    def __init__(self, link: Link, book: Rulebook, target: Callable[[], Address | None]) -> None:
        self.link = link
        self.target = target
        self.connections: set[Conduct] = set()
        self.count: Counter[str] = Counter()
        """What happened, by the names of `Counters`."""
        self._book = book
        self._chance: tuple[Hold | None, random.Random] = (None, random.Random())  # noqa: S311 - drawn from a seed

    def is_held(self, way: Direction) -> bool:
        """Does nothing pass that way?"""
        rule = self._book.rule(self.link)
        return rule.mode is Mode.BLACK_HOLE and rule.direction in (Direction.BOTH, way)

    def is_late(self, way: Direction) -> bool:
        """Does everything take longer that way?"""
        rule = self._book.rule(self.link)
        return rule.latency > 0 and rule.direction in (Direction.BOTH, way)

    def delay(self, way: Direction) -> float:
        """Seconds that the next piece takes longer that way."""
        if not self.is_late(way):
            return 0.0
        hold, rule = self._book.holding(self.link), self._book.rule(self.link)
        if self._chance[0] is not hold:
            self._chance = (hold, random.Random(f"{rule.seed}: {self.link}"))  # noqa: S311 - drawn from a seed
        return rule.latency + self._chance[1].uniform(-rule.jitter, rule.jitter)

    def fails_connections(self) -> bool:
        return self._book.fails_connections(self.link)

    def is_closed(self) -> bool:
        return self._book.is_closed(self.link)

    def fail_connection(self) -> None:
        """A connection was failed as soon as it was made."""
        refused = self._book.rule(self.link).mode is Mode.REFUSE
        self.count["refused" if refused else "reset"] += 1
        self._book.use(self.link)

    def fail_call(self) -> bool:
        if not self._book.fails_calls(self.link):
            return False
        self.count["calls"] += 1
        self._book.use(self.link)
        return True

    def drop(self) -> DropReply | None:
        return self._book.drop(self.link)

    def dropped(self, revision: int) -> None:
        self.count["dropped"] += 1
        self._book.dropped(self.link, revision)

    def holding(self) -> Hold | None:
        """The hold in force, such as the one by which a reply was just swallowed."""
        return self._book.holding(self.link)

    def refresh(self, lifted: Hold | None) -> None:
        """Have the connections do what the rule says now."""
        for connection in tuple(self.connections):
            connection.obey(lifted)

    def end(self) -> None:
        """Reset all connections."""
        for connection in tuple(self.connections):
            connection.reset()

    def counters(self) -> Counters:
        held = {way: sum(each.held(way) for each in self.connections) for way in (Direction.TO, Direction.FROM)}
        return Counters(
            rule=self._book.rule(self.link),
            listening=not self.is_closed(),
            open=len(self.connections),
            to_held=held[Direction.TO],
            from_held=held[Direction.FROM],
            **self.count,
        )
