"""The etcd leases by which events expire, shared by all events of a while."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock

EVENT_SECONDS: Final = 3600
"""How long an event is kept at least."""

SHARED_SECONDS: Final = 60
"""For how long new events join the same etcd lease."""

AT_HAND_SECONDS: Final = 600
"""The age at which a lease kept at hand is replaced."""


class EventLeases:
    """Grants an etcd lease a minute at most, and only while events are written.

    Args:
        grant: Grants an etcd lease of so many seconds and gives its id; raises StoreError.
    """

    def __init__(self, grant: Callable[[int], int], *, clock: Clock) -> None:
        self._grant = grant
        self._clock = clock
        self._lock = threading.Lock()
        self._granting = threading.Lock()  # held while etcd is asked, however long that takes; the other one never is
        self._lease = 0
        self._granted = 0.0

    def current(self) -> int:
        """The lease for events written now, granted if need be.

        Raises:
            StoreError: As `grant`.
        """
        return self._within(SHARED_SECONDS)

    def keep(self) -> None:
        """See to it that `at_hand` has a lease, at the cost of a grant each ten minutes.

        Raises:
            StoreError: As `grant`.
        """
        self._within(AT_HAND_SECONDS)

    def at_hand(self) -> int:
        """A lease that lives for half an hour at least, without asking etcd; 0 when there is none.

        Nor does it wait for a grant that another thread waits for: whoever releases a term takes what there is.

        A put with an etcd lease that is gone fails its whole transaction: one that must not fail, such as a release,
        takes only a lease that is sure to live.
        """
        with self._lock:
            return self._lease if self._age() < EVENT_SECONDS / 2 else 0

    def forget(self, lease: int) -> None:
        """This lease is gone, whoever revoked it."""
        with self._lock:
            if lease == self._lease:
                self._lease = 0

    def _within(self, age: float) -> int:
        with self._granting:
            with self._lock:
                if self._age() < age:
                    return self._lease
            now = self._clock.now()
            lease = self._grant(EVENT_SECONDS + SHARED_SECONDS)
            with self._lock:
                self._lease, self._granted = lease, now
            return lease

    def _age(self) -> float:
        return self._clock.now() - self._granted if self._lease else float("inf")
