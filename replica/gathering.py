"""Binds that wait for a transaction, and when one is worth what it costs.

The first goes at once. What comes while a batch is on its way gathers: three members and all who watch pay for each
transaction, as much as for some ten more pods in it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from replica.binding import MOST_PODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replica.binding import Group

ENOUGH: Final = MOST_PODS
"""Pods that are worth a transaction though another is in flight: the most that go together."""

MOMENT: Final = 0.04
"""Seconds that fewer than that wait for others: longer than a commit takes unless etcd has too much to do."""


class Gathering:
    """Groups in the order they came.

    Attributes:
        groups: Whoever sends takes them from the front.
    """

    def __init__(self) -> None:
        self.groups: deque[Group] = deque()
        self._since = 0.0

    def __bool__(self) -> bool:
        return bool(self.groups)

    def add(self, groups: Iterable[Group], now: float) -> None:
        """Let these wait; the moment begins with the first that waits."""
        if not self.groups:
            self._since = now
        self.groups.extend(groups)

    def put_back(self, groups: Sequence[Group]) -> None:
        """These come first, and have waited long enough."""
        self.groups.extendleft(reversed(groups))
        self._since = float("-inf")

    def worth_sending(self, now: float, *, in_flight: int) -> bool:
        """Is there a batch to send now, while so many are on their way?"""
        if not self.groups:
            return False
        return not in_flight or now >= self.due or sum(map(len, self.groups)) >= ENOUGH

    @property
    def due(self) -> float:
        """When those that wait go, however few they are."""
        return self._since + MOMENT
