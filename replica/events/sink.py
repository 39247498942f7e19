"""The sink: stores events, as guarded writes of the term in force."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from opentelemetry import metrics

from component import logs
from lockd.errors import Fenced, LeaseNotFound, NoSpace, OutcomeUnknown, StoreError, TooLarge, Unavailable

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from component.clock import Clock
    from lockd.fencing import GuardedReply, ObjectWrite
    from replica.api.events import Event
    from replica.events.broadcaster import Subscription
    from replica.events.leases import EventLeases
    from replica.events.term import TermEvents

_log = logs.get(__name__)

BATCH: Final = 100
"""Events written by one transaction at most."""

ATTEMPTS: Final = 12
PAUSE: Final = 10.0
"""Seconds between two attempts at most; a random share of it is waited, so that replicas and batches spread."""

IDLE: Final = 1.0
"""Seconds between two looks at whether a lease is at hand."""


@dataclass(frozen=True, slots=True)
class _Term:
    events: TermEvents
    write: Callable[[Sequence[ObjectWrite]], GuardedReply]


class EventSink:
    """Writes events while this replica leads; what comes in a standby is let go, and a lost leader writes none.

    A batch is one transaction. One that failed is written again as it was, under the same names; after its attempts it
    is dropped. While it waits, the subscription fills and drops.

    Args:
        leases: What the events expire by.
        draw: Random numbers in [0, 1).
    """

    def __init__(
        self,
        subscription: Subscription,
        leases: EventLeases,
        *,
        clock: Clock,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._subscription = subscription
        self._leases = leases
        self._clock = clock
        self._draw = draw
        self._term: _Term | None = None
        self._counter = metrics.get_meter(__name__).create_counter(
            "lockd_events", description="Events by what became of them: written, failed or unled"
        )

    def lead(self, events: TermEvents, write: Callable[[Sequence[ObjectWrite]], GuardedReply]) -> None:
        """A term began: store events from now on.

        Args:
            write: Makes a guarded write and settles it; raises StoreError or Fenced. Called from the sink's thread.
        """
        self._term = _Term(events, write)

    def follow(self) -> None:
        """The term ended: store nothing more, not even what waits."""
        self._term = None

    def run(self, stop: threading.Event) -> None:
        """Store what comes, until stopped, or closed and all is stored."""
        while not stop.is_set() and not self._subscription.closed:
            events = self._subscription.take(BATCH, stop, IDLE)
            if events:
                self.store(events, stop)
            self._keep_lease()

    def store(self, events: Sequence[Event], stop: threading.Event) -> None:
        """Store one batch, with all the attempts that takes."""
        term = self._term
        if term is None:
            self._count("unled", len(events))
            return
        writes = [term.events.write(event, 0) for event in events]
        for attempt in range(ATTEMPTS):
            if attempt and (self._clock.wait(stop, PAUSE * self._draw()) or self._term is not term):
                break
            try:
                writes = self._leased(writes)
                stored = self._write(term, writes)
            except LeaseNotFound:
                # Should an earlier copy have been applied all the same, the next one finds its keys there: as good.
                self._leases.forget(writes[0].lease)
                writes = [replace(write, lease=0) for write in writes]
            except (Unavailable, OutcomeUnknown, NoSpace) as error:
                _log.debug("events not stored", attempt=attempt + 1, events=len(events), error=error)
            except StoreError as error:
                if isinstance(error, TooLarge) and len(events) > 1:
                    for half in (events[: len(events) // 2], events[len(events) // 2 :]):
                        self.store(half, stop)
                    return
                _log.warning("events given up", events=len(events), error=error)
                break
            else:
                self._count("written" if stored else "unled", len(events))
                return
        self._count("failed", len(events))

    def _write(self, term: _Term, writes: list[ObjectWrite]) -> bool:
        """Write under the term; False when it is over."""
        try:
            fenced = term.write(writes).fenced
        except Fenced:
            fenced = True
        if fenced and self._term is term:  # a newer one may have begun meanwhile
            self._term = None
        return not fenced

    def _leased(self, writes: list[ObjectWrite]) -> list[ObjectWrite]:
        """The writes with an etcd lease; those that have one are left as they are, so that copies are identical."""
        if writes[0].lease:
            return writes
        lease = self._leases.current()
        return [replace(write, lease=lease) for write in writes]

    def _keep_lease(self) -> None:
        try:
            self._leases.keep()
        except StoreError as error:
            _log.debug("no lease for events", error=error)

    def _count(self, result: str, events: int) -> None:
        self._counter.add(events, {"result": result})
