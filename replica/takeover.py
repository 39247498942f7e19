"""How long a takeover took this replica, from its acquire to the first bind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockd.election_metrics import failovers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from component.clock import Clock
    from replica.binding import Verdict


class Takeover:
    """Measures what follows the election: the warm-up of the caches, and the first bind if a pod waited for it.

    The first term of a lock takes nothing over and is not measured.

    Args:
        name: Of the lock.
        how: `release`, `expiry` or `evidence`; `first` for none.
    """

    def __init__(self, name: str, how: str, clock: Clock) -> None:
        self._name = name
        self._how = how
        self._clock = clock
        self._durations = failovers()
        self._since: float | None = clock.now()

    def warm(self, *, waited_for: bool) -> None:
        """The caches have seen all that the predecessor did; `waited_for`: there are pods to schedule."""
        self._passed("warm_up")
        if not waited_for:
            self._since = None

    def judged(self, verdicts: Iterable[Verdict]) -> None:
        """These binds are settled; only the first that stands counts."""
        if self._since is not None and any(verdict.stands for verdict in verdicts):
            self._passed("first_bind")
            self._since = None

    def _passed(self, phase: str) -> None:
        now = self._clock.now()
        if self._how != "first" and self._since is not None:
            self._durations.record(now - self._since, self._name, phase, self._how)
        self._since = now
