"""The gap as a client sees it: the longest time in which something was asked for and nothing was acknowledged."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Silence:
    """A time between two acknowledgements, or between the first question after idleness and its answer.

    Attributes:
        began: On the client's clock.
        ended: On the same; None: it lasts.
    """

    began: float
    ended: float | None = None

    def seconds(self, until: float) -> float:
        """How long it lasted, as far as `until`."""
        return min(until, self.ended if self.ended is not None else until) - self.began


class Waiting:
    """Who waits for what. Told by several threads; time comes as an argument. A time without questions is no gap."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: dict[str, float] = {}
        self._since: float | None = None
        self._silences: list[Silence] = []

    def asked(self, names: Iterable[str], at: float) -> None:
        """Something is wanted from now on: before the first word of it is sent. Each name is used once."""
        with self._lock:
            for name in names:
                self._asked.setdefault(name, at)
                if self._since is None:
                    self._since = at

    def acknowledged(self, name: str, at: float) -> bool:
        """An answer came; False: nobody waits for it, or not any more."""
        with self._lock:
            if self._asked.pop(name, None) is None:
                return False
            if self._since is not None:
                self._silences.append(Silence(self._since, at))
            self._since = at if self._asked else None
            return True

    def expected(self, before: float) -> int:
        """How many wait that had asked before a moment."""
        with self._lock:
            return sum(asked < before for asked in self._asked.values())

    def longest(self, since: float, until: float) -> Silence | None:
        """The longest silence that any part of fell between two moments; None: nobody waited."""
        with self._lock:
            found = [*self._silences, *([Silence(self._since)] if self._since is not None else [])]
        within = [each for each in found if each.began < until and (each.ended is None or each.ended > since)]
        return max(within, key=lambda silence: silence.seconds(until), default=None)
