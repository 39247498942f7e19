"""The last number that was given, in etcd: only the leader of the time moves it."""

from __future__ import annotations

import json
import threading
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockd.etcd.retry import settle
from lockd.fencing import GuardedWrite, ObjectWrite

if TYPE_CHECKING:
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.fencing import Guard

KEY = "/tickets/last"


@dataclass(frozen=True)
class Ticket:
    """A number, as it is stored.

    Attributes:
        token: The fencing token of the leader that gave it: etcd's history can be judged by that.
        request: Unique to the write that stored it: whoever doesn't know what became of one looks for it.
    """

    number: int
    token: int = 0
    request: str = ""

    def encode(self) -> bytes:
        return json.dumps({"number": self.number, "token": self.token, "request": self.request}).encode()

    @classmethod
    def decode(cls, value: bytes) -> Ticket:
        return cls(**json.loads(value))


def token_of(value: bytes) -> int:
    """The token in a stored value, for `assert_no_stale_writes`."""
    return Ticket.decode(value).token


class Counter:
    """Gives numbers. Thread-safe: one is given after the other."""

    def __init__(self, gateway: Gateway, clock: Clock) -> None:
        self._gateway = gateway
        self._clock = clock
        self._lock = threading.Lock()

    def last(self) -> Ticket:
        """The last one that was given; number 0 before the first."""
        found = self._gateway.range(KEY, timeout=2.0).kvs
        return Ticket.decode(found[0].value) if found else Ticket(0)

    def take(self, guard: Guard, *, stop: threading.Event) -> Ticket:
        """The next one.

        Args:
            guard: Of the term: etcd refuses the write once the term is over, however late it arrives.
            stop: Gives up at once.

        Raises:
            Fenced: The term is over, and the number was not given.
            OutcomeUnknown: Nobody can say whether it was given. It is not given again.
            StoreError: It was not given.
        """
        with self._lock:
            found = self._gateway.range(KEY, timeout=2.0).kvs
            before, revision = (Ticket.decode(found[0].value), found[0].mod_revision) if found else (Ticket(0), 0)
            ticket = Ticket(before.number + 1, int(guard.token), uuid.uuid4().hex)
            guarded = GuardedWrite.of(guard, [ObjectWrite(KEY, revision, ticket.encode())])
            reply = settle(self._gateway, guarded.txn(), clock=self._clock, stop=stop, attempt=0.5, within=2.0)
            answer = guarded.judge(reply)
            (result,) = answer.results
            if result.applied or any(kv is not None and Ticket.decode(kv.value) == ticket for kv in result.objects):
                return ticket  # the latter: an earlier copy of this write was applied
            raise guarded.refuse()
