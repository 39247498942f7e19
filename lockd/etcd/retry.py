"""Trying again: reads until one is answered, transactions until one of their identical copies is."""

from __future__ import annotations

import random
import threading
from collections import deque
from itertools import count
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import tenacity

from component.backoff import Backoff
from lockd.errors import HistoryLost, OutcomeUnknown, Rejected, StoreError, Unavailable
from lockd.ports import TxnReply

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from lockd.ports import Call, Txn

T = TypeVar("T")

_PAUSE: Final = Backoff(initial=0.05, maximum=1.0, jitter=0.5)
"""Between two rounds through the members."""

_SHORTEST: Final = 0.05
"""Seconds that an attempt must have: a shorter one would hide what the one before has told."""

_STOP_POLL: Final = 0.1
"""Seconds between two looks at the stop event while waiting for replies."""


def persist(
    once: Callable[[int, float], T], *, clock: Clock, stop: threading.Event, within: float, members: int = 1
) -> T:
    """Call `once` until it is answered. For what may be done any number of times: reads and the like.

    Args:
        once: Takes the number of the attempt (0 first; it goes to another member than the last) and its timeout.
        stop: Interrupts the pauses.
        within: Seconds for all attempts. The first has a quarter of them, each later one twice its predecessor's.
        members: Attempts between two pauses.

    Raises:
        StoreError: Not Unavailable: at once. Unavailable: the last one, when time is up.
    """
    end = clock.now() + within
    attempts = count()
    last: list[Unavailable] = []

    def over() -> bool:
        return stop.is_set() or clock.now() >= end

    def attempt() -> T:
        if last and over():  # during the pause
            raise last[-1]
        number = next(attempts)
        left = max(0.0, end - clock.now())
        try:
            return once(number, min(left, max(0.25, within / 4) * 2.0**number))
        except Unavailable as error:
            last[:] = [error]
            raise

    def pause(state: tenacity.RetryCallState) -> float:
        rounds, place = divmod(state.attempt_number, members)
        return 0.0 if place else _PAUSE.delay(rounds - 1, random.random())  # noqa: S311  # spreads load, no secret

    def sleep(seconds: float) -> None:
        left = max(0.0, end - clock.now())
        clock.wait(stop, seconds if seconds < left - _SHORTEST else left)

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(Unavailable),
        stop=lambda _: over(),
        wait=pause,
        sleep=sleep,
        reraise=True,
    )
    return retrying(attempt)


class Sender(Protocol):
    """What settling needs of a gateway."""

    def send(self, txn: Txn, done: Callable[[TxnReply | StoreError], None], *, copy: int = 0, timeout: float) -> Call:
        """Send one copy and return at once; `done` is called once, from another thread."""
        ...


def settle(
    gateway: Sender, txn: Txn, *, clock: Clock, stop: threading.Event, attempt: float, within: float
) -> TxnReply:
    """Send identical copies of a transaction until one is answered as applied (either branch).

    A copy that is silent for `attempt` seconds stays open while the next one goes to another member, and the first
    applied reply of any copy counts. Once a copy may have been applied, an error of another says nothing about it.

    Args:
        stop: Gives up at once, as at the end of `within` seconds.

    Raises:
        OutcomeUnknown: No applied reply, and some copy may have been applied, or may still be.
        Unavailable: No applied reply, and certainly no copy was applied.
        Rejected: Refused while no other copy could have been applied.
        HistoryLost: etcd is not the one it was.
    """
    settling = _Settling(gateway, txn, clock=clock, stop=stop, attempt=attempt, within=within)
    try:
        return settling.run()
    finally:
        settling.cancel()


class _Settling:
    """The copies of one transaction."""

    def __init__(
        self, gateway: Sender, txn: Txn, *, clock: Clock, stop: threading.Event, attempt: float, within: float
    ) -> None:
        self._gateway = gateway
        self._txn = txn
        self._clock = clock
        self._stop = stop
        self._attempt = attempt
        self._end = clock.now() + within
        self._calls: list[Call] = []
        self._open = 0
        self._uncertain = False
        self._failures = 0
        self._last: StoreError | None = None
        self._arrived = threading.Event()
        self._inbox: deque[TxnReply | StoreError] = deque()

    def run(self) -> TxnReply:
        while not self._over():
            self._send()
            next_copy = self._clock.now() + self._attempt
            while self._wait(next_copy):
                reply = self._inbox.popleft()
                if isinstance(reply, TxnReply):
                    return reply
                self._note(reply)
                next_copy = min(next_copy, self._clock.now() + self._pause())
        raise self._unsettled()

    def cancel(self) -> None:
        for call in self._calls:
            call.cancel()

    def _send(self) -> None:
        self._open += 1
        left = max(0.0, self._end - self._clock.now())
        self._calls.append(self._gateway.send(self._txn, self._receive, copy=len(self._calls), timeout=left))

    def _receive(self, reply: TxnReply | StoreError) -> None:
        self._inbox.append(reply)
        self._arrived.set()

    def _over(self) -> bool:
        return self._stop.is_set() or self._clock.now() >= self._end

    def _wait(self, until: float) -> bool:
        """Wait for a reply, until it is time for the next copy or all is over; True if there is one."""
        until = min(until, self._end)
        while not self._inbox:
            left = until - self._clock.now()
            if left <= 0 or self._stop.is_set():
                return False
            self._clock.wait(self._arrived, min(left, _STOP_POLL))
            self._arrived.clear()
        return True

    def _note(self, error: StoreError) -> None:
        """Take in the error of a copy; raises it where it settles the transaction."""
        self._open -= 1
        self._failures += 1
        self._last = error
        if isinstance(error, HistoryLost):
            raise error
        if isinstance(error, OutcomeUnknown):
            self._uncertain = True
        elif isinstance(error, Rejected) and not self._uncertain and not self._open:
            raise error

    def _pause(self) -> float:
        """Seconds before the next copy after one that failed: none at first, for it goes to another member."""
        return 0.0 if self._failures == 1 else min(self._attempt, _PAUSE.delay(self._failures - 2))

    def _unsettled(self) -> StoreError:
        kind = OutcomeUnknown if self._uncertain or self._open else Unavailable
        last = self._last
        reason = f": {last}" if last is not None else ""
        return kind(
            f"no applied reply to {len(self._calls)} copies of a transaction{reason}",
            operation="KV/Txn",
            endpoint=last.endpoint if last is not None else "",
            code=last.code if last is not None else "",
        )
