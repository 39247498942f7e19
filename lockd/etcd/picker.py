"""Which member to call: a healthy one, and for a copy of a call another than its predecessors."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final

from component.backoff import Backoff

if TYPE_CHECKING:
    from collections.abc import Sequence

SLOW: Final = 1.0
"""Seconds without a reply after which a member with a call in flight counts as troubled."""

_HURRIED: Final = 0.25
"""Seconds without a reply after which giving up a call speaks against the member."""

_AVOID: Final = Backoff(initial=0.5, maximum=10.0)
"""How long a member is avoided after its n-th failure in a row."""


@dataclass(slots=True)
class _Member:
    endpoint: str
    failures: int = 0
    avoid_until: float = float("-inf")
    copied: int = 0
    """When it was last picked for a call, in picks."""
    flying: dict[int, float] = field(default_factory=dict)
    """When each call in flight was sent, oldest first."""

    def troubled(self, now: float) -> bool:
        oldest = next(iter(self.flying.values()), now)
        return now < self.avoid_until or now - oldest > SLOW


class Picker:
    """Chooses among the members by what happened to earlier calls. Thread-safe; takes the time as an argument.

    First copies go to one member as long as it is well, the one at place `first` to begin with. Further copies go to
    the member whose last pick is longest ago. A troubled member is chosen only when all are.
    """

    def __init__(self, endpoints: Sequence[str], *, first: int = 0) -> None:
        turn = first % len(endpoints)
        self._members = [_Member(endpoint) for endpoint in (*endpoints[turn:], *endpoints[:turn])]
        self._by_endpoint = {member.endpoint: member for member in self._members}
        self._home = self._members[0]
        self._picks = count(1)
        self._calls = count(1)
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """How many members there are."""
        return len(self._members)

    def pick(self, now: float, *, copy: int = 0) -> str:
        """The endpoint to call for copy number `copy`, 0 being the first."""
        with self._lock:
            if copy:
                member = min(self._members, key=lambda m: (m.troubled(now), m.copied))
            else:
                if self._home.troubled(now):
                    self._home = min(self._members, key=lambda m: (m.troubled(now), m.avoid_until, m.copied))
                member = self._home
            member.copied = next(self._picks)
            return member.endpoint

    def sent(self, endpoint: str, now: float) -> int:
        """Note a call on its way; the result is for `done`."""
        with self._lock:
            call = next(self._calls)
            self._by_endpoint[endpoint].flying[call] = now
            return call

    def done(self, endpoint: str, call: int, now: float, *, well: bool | None) -> None:
        """Note how a call ended; what is said of it later doesn't count.

        Args:
            well: The member answered (True), failed or was silent (False), or the call was cancelled (None).
        """
        with self._lock:
            member = self._by_endpoint[endpoint]
            started = member.flying.pop(call, None)
            if started is None:
                return
            if well is None:
                if now - started < _HURRIED:
                    return
                well = False
            if well:
                member.failures = 0
                member.avoid_until = float("-inf")
            elif started >= member.avoid_until or not member.failures:  # calls that fail together are one failure
                member.avoid_until = now + _AVOID.delay(member.failures)
                member.failures += 1
