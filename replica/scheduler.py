"""The scheduler: what an elector is given as the work of a term."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockd.fencing import Token
from replica.events.term import TermEvents
from replica.parts import Settings
from replica.scheduler_metrics import SchedulerMetrics
from replica.term import TermWork
from replica.write_metrics import WriteMetrics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lockd.ports import Put
    from replica.parts import Leadership, Parts


class Scheduler:
    """Schedules pods while this replica leads."""

    def __init__(self, parts: Parts, settings: Settings | None = None) -> None:
        self._parts = parts
        self._settings = settings or Settings()
        self._term: TermWork | None = None
        self._events: TermEvents | None = None
        self._metrics = SchedulerMetrics(
            sizes=self._sizes,
            pending=parts.queue.pending,
            under_way=self._under_way,
            profiles=parts.profiles,
        )
        WriteMetrics()  # a standby's are there too, at 0: a rise can only be seen from somewhere

    def run(self, leadership: Leadership) -> None:
        """Schedule until the term is lost or its end is asked for; then see to what is in flight.

        It returns early when the caches don't catch up with the term in time.

        Raises:
            Exception: What a part of the machinery raised (not a plugin): the term can't go on.
        """
        self._events = TermEvents(self._parts.lock.prefix, leadership.token)
        self._term = TermWork(self._parts, self._settings, leadership, self._metrics, self._events)
        self._term.run()

    def farewell(self, token: int) -> tuple[Put, ...]:
        """What rides in the transaction that releases the term of `token`: the "stopped leading" event."""
        events = self._events
        if events is None or events.token != token:
            events = TermEvents(self._parts.lock.prefix, Token(token))
        event = self._parts.recorder.stopped_leading(self._parts.lock)
        return (events.put(event, self._parts.leases.at_hand()),)

    def _under_way(self) -> tuple[int, int]:
        return self._term.under_way if self._term is not None else (0, 0)

    def _sizes(self) -> Mapping[str, int]:
        shown, assumed = self._parts.assumed.counts()
        return {"nodes": self._parts.table.known, "pods": shown + assumed, "assumed_pods": assumed}
