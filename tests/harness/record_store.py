"""A RecordStore in memory: it answers at once, on the caller's thread, as its script says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockd.errors import OutcomeUnknown, Unavailable
from lockd.ports import Failed
from tests.harness.lock_store import LOCK, Flight, LockStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockd.errors import StoreError
    from lockd.ports import Applied, KeyEvent, Put, Transaction, View


@dataclass(eq=False)
class Wire:
    """A call, or a watch."""

    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass(eq=False)
class Sent:
    """One copy that was sent."""

    transaction: Transaction
    copy: int
    timeout: float
    riders: tuple[Put, ...]
    wire: Wire = field(default_factory=Wire)


@dataclass(eq=False)
class MemoryRecordStore:
    """Backed by a `LockStore`, which several may share.

    Attributes:
        lose_replies: So many transactions are applied and not answered, nor told to those who watch.
        refuse: So many transactions fail without effect, with `error` if one is given.
        down: Nothing is answered but by an error.
        before_send: Called with each copy, before anything else happens to it.
    """

    store: LockStore = field(default_factory=LockStore)
    lose_replies: int = 0
    refuse: int = 0
    error: StoreError | None = None
    down: bool = False
    sent: list[Sent] = field(default_factory=list)
    reads: int = 0
    before_send: Callable[[Sent], None] = lambda _: None
    sinks: list[tuple[Callable[[KeyEvent], None], Wire]] = field(default_factory=list)

    def read(self, done: Callable[[View | StoreError], None], *, timeout: float) -> Wire:
        self.reads += 1
        done(Unavailable(f"no answer within {timeout} s") if self.down else self.store.view())
        return Wire()

    def send(
        self,
        transaction: Transaction,
        done: Callable[[Applied | Failed], None],
        *,
        copy: int,
        timeout: float,
        riders: tuple[Put, ...] = (),
    ) -> Wire:
        sent = Sent(transaction, copy, timeout, riders)
        self.sent.append(sent)
        self.before_send(sent)
        if self.down or self.refuse:
            self.refuse -= not self.down
            done(Failed(self.error or Unavailable("refused")))
            return sent.wire
        seen = len(self.store.log)
        answer = Flight(self.store, transaction, riders).commit()
        if self.lose_replies:
            self.lose_replies -= 1
            done(Failed(OutcomeUnknown("the reply is lost")))
        else:
            done(answer)
            self.tell(seen)
        return sent.wire

    def watch(self, sink: Callable[[KeyEvent], None]) -> Wire:
        wire = Wire()
        self.sinks.append((sink, wire))
        for event in self.store.log:
            sink(event)
        return wire

    def tell(self, since: int) -> None:
        """Deliver what was logged since, to all who watch."""
        for event in self.store.log[since:]:
            for sink, wire in self.sinks:
                if not wire.cancelled:
                    sink(event)


__all__ = ["LOCK", "MemoryRecordStore"]
