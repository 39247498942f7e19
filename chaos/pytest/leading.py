"""Who leads, by etcd's word: waited for, and told of a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chaos.cluster.interface import Condition
from chaos.errors import Interrupted, TooSlow
from lockd.errors import StoreError
from lockd.record import parse_history

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from chaos.cluster.interface import Target
    from chaos.history import History
    from chaos.pytest.cluster import HaCluster
    from component.clock import Clock

STEP: Final = 0.02
"""Seconds between two looks."""


class WaitForLeader:
    """Waits until a replica of one cluster leads."""

    def __init__(self, cluster: HaCluster, *, stop: threading.Event, clock: Clock) -> None:
        self._cluster = cluster
        self._stop = stop
        self._clock = clock

    def __call__(self, *, other_than: Target | str = "", within: float | None = None) -> Target:
        """The replica that holds the lease by etcd's word, and whose process is there.

        Args:
            other_than: Not this one: a target, or the identity of one.
            within: Seconds; None: what a failover may take at most, with room for a busy machine.

        Raises:
            TooSlow: Nobody does in time; says who held the lease in the end.
            Interrupted: The session ends.
        """
        __tracebackhide__ = True  # what went wrong is told in one line; the test is what is to be seen
        return self.until(other_than=other_than, within=within)

    def until(
        self,
        *,
        other_than: Target | str = "",
        within: float | None = None,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> Target:
        """The same, with something else done at each look."""
        __tracebackhide__ = True
        unlike = other_than if isinstance(other_than, str) else other_than.identity
        within = self._cluster.patience if within is None else within
        end = self._clock.now() + within
        while True:
            meanwhile()
            try:
                found = self._cluster.leader()
            except StoreError as error:
                found, told = None, f"etcd doesn't say who does: {error}"
            else:
                told = "nobody does, or a stranger" if found is None else f"{found.name} ({found.identity}) does"
            if found is not None and found.identity != unlike and self._lives(found):
                return found
            if self._clock.now() >= end:
                other = f" other than {unlike}" if unlike else ""
                raise TooSlow(f"no leader{other} within {within:g} s: {told}; see {self._cluster.folder}")
            if self._clock.wait(self._stop, STEP):
                raise Interrupted("the session ends")

    def _lives(self, target: Target) -> bool:
        return self._cluster.cluster.condition(target) is not Condition.GONE


def takeovers(history: History) -> dict[int, str]:
    """How each term began, by its token: `first`, `release`, `expiry` or `evidence`, as its holder put it beside."""
    found: dict[int, str] = {}
    for change in history.everything():
        if change.kind == "history":
            for entry in parse_history(change.value, change.revision)[-1:]:
                found.setdefault(entry.token, entry.takeover)
    return found
