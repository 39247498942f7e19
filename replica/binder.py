"""The binder: sends binds in guarded transactions, a few at a time, and settles each.

A bind goes out at once when no transaction is in flight; what comes meanwhile gathers for a moment, or until one
returns where all that may be are in flight. So a batch is as large as the load makes it.
"""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from opentelemetry import trace

from component import logs, tracing
from component.backoff import Backoff
from component.clock import LONGEST_WAIT
from lockd.errors import HistoryLost, OutcomeUnknown, StoreError, TooLarge
from replica.binding import MOST_BYTES, MOST_PODS, Batch, Fate, Verdict
from replica.gathering import Gathering
from replica.write_metrics import BINDING, WriteMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from opentelemetry.trace import Span

    from component.clock import Clock
    from lockd.fencing import Guard
    from lockd.ports import Call, Txn, TxnReply
    from replica.binding import Group

_log = logs.get(__name__)

IN_FLIGHT = 4
"""Transactions on their way at once."""

STOP_POLL = 0.1
"""Seconds between two looks at whether the term is over, while something is in flight."""

_PAUSE_INITIAL = 0.05


class Sender(Protocol):
    """What the binder needs of a gateway."""

    def send(self, txn: Txn, done: Callable[[TxnReply | StoreError], None], *, copy: int = 0, timeout: float) -> Call:
        """Send one copy and return at once; `done` is called once, from another thread."""
        ...


class Term(Protocol):
    """What the binder needs of a leadership: `lockd.leadership.Leadership`."""

    @property
    def guard(self) -> Guard: ...

    @property
    def lost(self) -> threading.Event: ...

    @property
    def traceparent(self) -> str: ...

    def holds(self, now: float) -> bool: ...

    def fenced(self) -> None: ...


@dataclass(slots=True)
class _Flight:
    """A batch on its way: its copies, and when the next one is due."""

    batch: Batch
    span: Span
    sent: float
    calls: list[Call] = field(default_factory=list)
    open: int = 0
    failures: int = 0
    uncertain: bool = False
    next_copy: float = 0.0
    settled: bool = False


@dataclass(frozen=True, slots=True)
class _Reply:
    flight: _Flight
    result: TxnReply | StoreError


@dataclass(frozen=True, slots=True)
class _Submit:
    groups: Sequence[Group]


@dataclass(frozen=True, slots=True)
class _End:
    """Send nothing more; give what is in flight until `deadline`."""

    deadline: float


class Binder:
    """Binds pods of one term, on one thread of its own (`run`).

    A transaction that brings no answer within `attempt` stays open while its identical copy goes to another member;
    the first applied reply of any copy settles it, and an error never does but one that every copy must meet.

    Args:
        judged: Given all verdicts of a batch at once, on the binder's thread. Each bind gets exactly one.
        attempt: Seconds before the next copy of a silent transaction goes out.
        patience: Seconds after which one copy is given up; it may still be applied.
    """

    def __init__(
        self,
        sender: Sender,
        term: Term,
        *,
        clock: Clock,
        judged: Callable[[Sequence[Verdict]], None],
        attempt: float = 1.25,
        patience: float = 10.0,
        in_flight: int = IN_FLIGHT,
        most: int = MOST_PODS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._sender = sender
        self._term = term
        self._clock = clock
        self._judged = judged
        self._attempt = attempt
        self._patience = patience
        self._limit = in_flight
        self._most = most
        self._most_bytes = most_bytes
        self._pause = Backoff(initial=min(_PAUSE_INITIAL, attempt), maximum=attempt)
        self._inbox: queue.SimpleQueue[_Submit | _Reply | _End] = queue.SimpleQueue()
        self._pending = Gathering()
        self._flights: list[_Flight] = []
        self._end: float | None = None
        self._lock = threading.Lock()
        self._busy = 0
        self._left = False
        self._metrics = WriteMetrics()
        anchor = tracing.link(term.traceparent, {"link.kind": "leadership_term"})
        self._links = [anchor] if anchor is not None else []

    # --- from any thread

    def submit(self, groups: Sequence[Group]) -> None:
        """Bind these: each group as a whole or not at all, independent of the others."""
        with self._lock:
            self._busy += sum(map(len, groups))
            if not self._left:
                self._inbox.put(_Submit(groups))
                return
        self._drop(groups)

    def drain(self, deadline: float) -> None:
        """Send nothing more: `run` ends when all that is in flight is settled, at `deadline` at the latest."""
        self._inbox.put(_End(deadline))

    @property
    def busy(self) -> int:
        """Binds submitted that have no verdict yet."""
        with self._lock:
            return self._busy

    # --- the binder's thread

    def run(self) -> None:
        """Send and settle until drained or the term is lost. Every bind submitted by then has its verdict at the end.

        Raises:
            HistoryLost: etcd is not the one it was.
        """
        try:
            while not self._over():
                self.step(self._wait)
        finally:
            self._leave()

    def step(self, wait: Callable[[], float] = lambda: 0.0) -> None:
        """Take in what has come, waiting up to `wait()` seconds for the first of it, then send what may be sent."""
        self._take_in(wait())
        self._send_pending()
        self._resend()

    def _over(self) -> bool:
        if self._term.lost.is_set():
            return True
        if self._end is None:
            return False
        return not self._flights or self._clock.now() >= self._end

    def _wait(self) -> float:
        """Seconds to wait for news at most."""
        if not self._flights:
            return STOP_POLL if self._pending else LONGEST_WAIT
        due = min(flight.next_copy for flight in self._flights)
        if self._pending and len(self._flights) < self._limit:
            due = min(due, self._pending.due)
        return max(0.0, min(due - self._clock.now(), STOP_POLL))

    def _take_in(self, seconds: float) -> None:
        try:
            item = self._inbox.get(timeout=seconds) if seconds > 0 else self._inbox.get_nowait()
            while True:
                self._handle(item)
                item = self._inbox.get_nowait()
        except queue.Empty:
            return

    def _handle(self, item: _Submit | _Reply | _End) -> None:
        match item:
            case _Submit(groups):
                if self._end is None:
                    self._pending.add(groups, self._clock.now())
                else:
                    self._drop(groups)
            case _End(deadline):
                self._end = deadline if self._end is None else min(self._end, deadline)
                self._drop_pending()
            case _Reply(flight, result):
                if not flight.settled:
                    self._replied(flight, result)

    def _send_pending(self) -> None:
        while self._worth_sending() and self._term.holds(self._clock.now()):
            batch = Batch.take(self._term.guard, self._pending.groups, most=self._most, most_bytes=self._most_bytes)
            span = tracing.begin(
                "scheduler.bind_batch",
                links=self._links,
                attributes={"pods": len(batch), "token": self._term.guard.token},
            )
            flight = _Flight(batch, span, self._clock.now())
            self._flights.append(flight)
            self._metrics.batch(len(batch))
            self._send(flight)

    def _worth_sending(self) -> bool:
        flying = len(self._flights)
        return flying < self._limit and self._pending.worth_sending(self._clock.now(), in_flight=flying)

    def _resend(self) -> None:
        now = self._clock.now()
        for flight in self._flights:
            if flight.next_copy <= now and self._term.holds(now):
                self._send(flight)

    def _send(self, flight: _Flight) -> None:
        copy = len(flight.calls)
        flight.open += 1
        flight.next_copy = self._clock.now() + self._attempt
        with trace.use_span(flight.span, end_on_exit=False):
            call = self._sender.send(
                flight.batch.txn,
                lambda result: self._inbox.put(_Reply(flight, result)),
                copy=copy,
                timeout=self._patience,
            )
        flight.calls.append(call)

    def _replied(self, flight: _Flight, result: TxnReply | StoreError) -> None:
        flight.open -= 1
        if isinstance(result, StoreError):
            self._failed(flight, result)
            return
        reply = flight.batch.write.judge(result)
        verdicts = flight.batch.verdicts(reply)
        if reply.fenced:
            # The earliest news that the term is over: nobody waits for the next renewal to say so.
            self._metrics.rejected()
            _log.error("bind refused: the term is over", token=int(self._term.guard.token), pods=len(flight.batch))
            self._term.fenced()
        self._close(flight, "fenced" if reply.fenced else "applied", reply.revision)
        with trace.use_span(flight.span, end_on_exit=False):
            self._settle(flight, verdicts)

    def _failed(self, flight: _Flight, error: StoreError) -> None:
        """One copy failed. That settles the batch only if its size is to blame and no other copy may be applied."""
        flight.failures += 1
        if isinstance(error, HistoryLost):
            raise error
        if isinstance(error, OutcomeUnknown):
            flight.uncertain = True
        elif isinstance(error, TooLarge):
            if len(flight.batch.groups) > 1:
                # Smaller batches make the very writes that this one would have made, each under its own compare: should
                # a copy of it be committed all the same, they find the pods bound as they wanted them.
                self._most_bytes = min(self._most_bytes, flight.batch.size // 2)
                self._close(flight, "halved")
                self._pending.put_back(flight.batch.groups)
                return
            if not flight.uncertain and not flight.open:
                self._close(flight, "too large")
                self._settle(flight, flight.batch.all(Fate.TOO_LARGE, str(error)))
                return
        # The first failure is followed at once, for the copy goes to another member.
        pause = 0.0 if flight.failures == 1 else self._pause.delay(flight.failures - 2)
        flight.next_copy = min(flight.next_copy, self._clock.now() + pause)
        _log.debug("bind not settled", failures=flight.failures, error=error, pods=len(flight.batch))

    def _close(self, flight: _Flight, outcome: str, revision: int = 0) -> None:
        flight.settled = True
        self._flights.remove(flight)
        for call in flight.calls:
            call.cancel()
        flight.span.set_attribute("outcome", outcome)
        flight.span.set_attribute("copies", len(flight.calls))
        if revision:
            flight.span.set_attribute("etcd.revision", revision)
        flight.span.end()

    def _settle(self, flight: _Flight, verdicts: Sequence[Verdict]) -> None:
        bound = sum(verdict.stands for verdict in verdicts)
        seconds = self._clock.now() - flight.sent
        self._metrics.settled(BINDING, seconds, done=bound, failed=len(verdicts) - bound)
        self._judge(verdicts)

    def _judge(self, verdicts: Sequence[Verdict]) -> None:
        with self._lock:
            self._busy -= len(verdicts)
        self._judged(verdicts)

    def _drop(self, groups: Iterable[Group]) -> None:
        dropped = [Verdict(each, Fate.NOT_SENT) for group in groups for each in group]
        if dropped:
            self._judge(dropped)

    def _drop_pending(self) -> None:
        self._drop(self._pending.groups)
        self._pending.groups.clear()

    def _leave(self) -> None:
        """Nothing is sent or awaited any more: say of every bind what is known of it."""
        with self._lock:
            self._left = True
        for flight in tuple(self._flights):
            self._close(flight, "unsettled")
            self._settle(flight, flight.batch.all(Fate.UNSETTLED, "the term ended before etcd answered"))
        self._drop_pending()
        while not self._inbox.empty():
            item = self._inbox.get_nowait()
            if isinstance(item, _Submit):
                self._drop(item.groups)
