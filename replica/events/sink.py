"""The sink: stores events, as guarded writes of the term in force."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from opentelemetry import metrics

from component import logs
from lockd.errors import Fenced, LeaseNotFound, NoSpace, OutcomeUnknown, StoreError, TooLarge, Unavailable
from replica.events.correlator import Correlator

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from component.clock import Clock
    from lockd.fencing import GuardedReply, ObjectWrite
    from replica.api.events import Event
    from replica.events.broadcaster import Subscription
    from replica.events.correlator import Entry
    from replica.events.leases import EventLeases
    from replica.events.term import TermEvents

_log = logs.get(__name__)

BATCH: Final = 120
"""Events written by one transaction at most."""

LINGER: Final = 0.1
"""Seconds that an event waits for others: nobody decides by events, and each transaction costs all members."""

ATTEMPTS: Final = 12
PAUSE: Final = 10.0
"""Seconds between two attempts at most; a random share of it is waited, so that replicas and batches spread."""

IDLE: Final = 1.0
"""Seconds between two looks at whether a lease is at hand."""


@dataclass(frozen=True, slots=True)
class _Term:
    events: TermEvents
    write: Callable[[Sequence[ObjectWrite]], GuardedReply]
    correlator: Correlator = field(default_factory=Correlator)


class EventSink:
    """Writes events while this replica leads; what comes in a standby is let go, and a lost leader writes none.

    Events that say the same are one object with a count (`Correlator`). A batch is one transaction. One that failed is
    written again as it was, under the same names; after its attempts it is dropped. While it waits, the subscription
    fills and drops.

    Args:
        leases: What the events expire by; a series that is written again takes a new one.
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
            "lockd_events",
            description="Events by what became of them: written, counted (in a series), failed or unled",
        )
        for result in ("written", "counted", "failed", "unled"):
            self._count(result, 0)

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
            events = self._subscription.take(BATCH, stop, IDLE, linger=LINGER)
            if events:
                self.store(events, stop)
            self.refresh(stop)
            self._keep_lease()

    def store(self, events: Sequence[Event], stop: threading.Event) -> None:
        """Store what is new of these, with all the attempts that takes."""
        term = self._term
        if term is None:
            self._count("unled", len(events))
            return
        entries = term.correlator.see(events, self._clock.now())
        if joined := len(events) - len(entries):
            self._count("counted", joined)
        self._store(term, entries, stop)

    def refresh(self, stop: threading.Event) -> None:
        """Store the series whose time has come."""
        term = self._term
        if term is None:
            return
        due = term.correlator.due(self._clock.now())
        for first in range(0, len(due), BATCH):
            self._store(term, due[first : first + BATCH], stop)

    def _store(self, term: _Term, entries: Sequence[Entry], stop: threading.Event) -> None:
        """Store one batch; what can't be is given up."""
        new, stored = [each for each in entries if not each.revision], [each for each in entries if each.revision]
        if new and stored:
            self._store(term, new, stop)
            self._store(term, stored, stop)
            return
        if not entries:
            return
        for entry in entries:
            entry.event = term.events.named(entry.event)
        try:
            writes, reply = self._deliver(term, entries, stop)
        except StoreError as error:
            if isinstance(error, TooLarge) and len(entries) > 1:
                for half in (entries[: len(entries) // 2], entries[len(entries) // 2 :]):
                    self._store(term, half, stop)
                return
            _log.warning("events given up", events=len(entries), error=error)
            for entry in entries:
                term.correlator.lost(entry)
            self._count("failed", len(entries))
            return
        if reply is None:
            self._count("unled", len(entries))
        else:
            self._store(term, self._settle(term, entries, writes, reply), stop)

    def _deliver(
        self, term: _Term, entries: Sequence[Entry], stop: threading.Event
    ) -> tuple[list[ObjectWrite], GuardedReply | None]:
        """Write them, with all the attempts that takes: what was sent, and the reply (None: the term is over).

        Raises:
            StoreError: The last failure, or one that another attempt would only repeat.
        """
        last: StoreError | None = None
        lease = 0
        writes: list[ObjectWrite] = []
        for attempt in range(ATTEMPTS):
            if attempt and (self._clock.wait(stop, PAUSE * self._draw()) or self._term is not term):
                break
            try:
                if not writes:
                    lease = self._leases.current()
                    writes = _writes(term.events, entries, lease)
                return writes, self._write(term, writes)
            except LeaseNotFound as error:
                # Should an earlier copy have been applied all the same, the next one finds its keys there: as good.
                self._leases.forget(lease)
                writes = []
                last = error
            except (Unavailable, OutcomeUnknown, NoSpace) as error:
                _log.debug("events not stored", attempt=attempt + 1, events=len(entries), error=error)
                last = error
        raise last or Unavailable("no attempt was made")

    def _settle(
        self, term: _Term, entries: Sequence[Entry], writes: list[ObjectWrite], reply: GuardedReply
    ) -> list[Entry]:
        """Take in what became of each; the result is to be stored under new names, since the old ones are no more."""
        now = self._clock.now()
        again: list[Entry] = []
        share = len(entries) // len(writes)  # what became of one write became of all the events that it has
        for entry, write, result in zip(entries, writes * share, reply.results * share, strict=True):
            found = None if result.applied else result.objects[0]
            if result.applied:
                term.correlator.stored(entry, reply.revision, now)
            elif found is not None and found.value == write.value:
                term.correlator.stored(entry, found.mod_revision, now)  # by an earlier copy
            elif write.mod_revision:
                term.correlator.gone(entry)
                again.append(entry)
            else:
                _log.warning("event not stored: its key is taken", key=write.key, event=entry.event.name)
                term.correlator.lost(entry)
        self._count("written", len(entries) - len(again))
        return again

    def _write(self, term: _Term, writes: list[ObjectWrite]) -> GuardedReply | None:
        """Write under the term; None when it is over."""
        try:
            reply = term.write(writes)
        except Fenced:
            fenced = True
        else:
            fenced = reply.fenced
        if not fenced:
            return reply
        if self._term is term:  # a newer one may have begun meanwhile
            self._term = None
        return None

    def _keep_lease(self) -> None:
        try:
            self._leases.keep()
        except StoreError as error:
            _log.debug("no lease for events", error=error)

    def _count(self, result: str, events: int) -> None:
        self._counter.add(events, {"result": result})


def _writes(events: TermEvents, entries: Sequence[Entry], lease: int) -> list[ObjectWrite]:
    """Of entries that are all new, one; of those that are stored already, one each."""
    if not entries[0].revision:
        return [events.create((entry.event for entry in entries), lease)]
    return [events.write(entry.event, lease, mod_revision=entry.revision) for entry in entries]
