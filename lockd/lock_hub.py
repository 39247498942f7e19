"""The locks of one process: its electors share connections, one watch stream, reads, and who tries to acquire.

What etcd sees of a lock is then the same for one contender in a process as for two hundred: one read and one acquire
for each hand-off, and one poll for each retry period.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final

from lockd.lock_feed import LockFeed
from lockd.ports import Acquire, Applied, Failed, Seen, View
from lockd.store import EtcdRecordStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from lockd.errors import StoreError
    from lockd.etcd.gateway import Gateway
    from lockd.ports import Call, KeyEvent, LockName, Put, RecordStore, Transaction

    Sink = Callable[[KeyEvent | View], None]
    ReadDone = Callable[[View | StoreError], None]
    SendDone = Callable[[Applied | Failed], None]

FRESH: Final = 0.1
"""Seconds for which a read on its way is waited for; an older one may hang, and another is sent beside it."""


class LockHub:
    """All locks of a process over one gateway."""

    def __init__(self, gateway: Gateway, *, clock: Clock) -> None:
        self.feed = LockFeed(gateway, clock=clock)
        self._gateway = gateway
        self._clock = clock
        self._lock = threading.Lock()
        self._stores: dict[LockName, SharedRecordStore] = {}

    def store(self, lock: LockName) -> RecordStore:
        """A lock's keys, for one elector or more."""
        with self._lock:
            found = self._stores.get(lock)
            if found is None:
                inner = EtcdRecordStore(self._gateway, lock, clock=self._clock)
                found = self._stores[lock] = SharedRecordStore(inner, self.feed, lock, clock=self._clock)
            self._stores = {name: kept for name, kept in self._stores.items() if kept is found or kept.used}
            return found

    def close(self) -> None:
        """End the watch and its threads."""
        self.feed.close()


@dataclass(eq=False, slots=True)
class _Read:
    """A read on its way, and who gets its answer."""

    sent: float
    waiting: list[ReadDone]


@dataclass(eq=False, slots=True)
class _Try:
    """One contender's acquire, which waits for how another's ends."""

    transaction: Acquire
    done: SendDone
    copy: int
    timeout: float
    call: Call | None = None
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True
        if self.call is not None:
            self.call.cancel()


@dataclass(frozen=True, slots=True)
class _Nothing:
    """A call that can't be cancelled alone: others wait for it too."""

    def cancel(self) -> None:
        return


@dataclass(eq=False, slots=True)
class _Contest:
    """Acquires that compare the same revisions: at most one can be committed, so one is sent and the others wait."""

    held: list[_Try] = field(default_factory=list)


class SharedRecordStore:
    """A RecordStore for all contenders of one lock in this process. Thread-safe.

    - One whole read serves all: who asks while one is on its way gets the next. Those who didn't ask are told as well,
      which puts off their own.
    - Of acquires that compare the same revisions one is sent. The answer to it is what etcd would have said to the
      others right afterwards: a swap that has succeeded makes theirs fail. When it brings no answer, the next is sent.
    """

    def __init__(self, inner: RecordStore, feed: LockFeed, lock: LockName, *, clock: Clock) -> None:
        self._inner = inner
        self._feed = feed
        self._name = lock
        self._clock = clock
        self._lock = threading.Lock()
        self._numbers = count()
        self._sinks: dict[int, Sink] = {}
        self._reading: _Read | None = None
        self._next: list[ReadDone] = []
        self._contests: dict[tuple[int, int, int], _Contest] = {}

    @property
    def used(self) -> bool:
        """Does anybody watch?"""
        return bool(self._sinks)

    # --- watching ---

    def watch(self, sink: Sink) -> Call:
        with self._lock:
            number = next(self._numbers)
            self._sinks[number] = sink
        subscription = self._feed.subscribe(self._name, sink)

        def leave() -> None:
            subscription.cancel()
            with self._lock:
                self._sinks.pop(number, None)

        return _Leave(leave)

    # --- reading ---

    def read(self, done: ReadDone, *, timeout: float) -> Call:
        now = self._clock.now()
        with self._lock:
            reading = self._reading
            if reading is not None and now - reading.sent < FRESH:
                self._next.append(done)
                return _Nothing()
            waiting, self._next = [done, *self._next], []
            mine = self._reading = _Read(now, waiting)
        self._send_read(mine, timeout)
        return _Nothing()

    def _send_read(self, read: _Read, timeout: float) -> None:
        self._inner.read(lambda answer: self._landed(read, answer, timeout), timeout=timeout)

    def _landed(self, read: _Read, answer: View | StoreError, timeout: float) -> None:
        following: _Read | None = None
        with self._lock:
            sinks = tuple(self._sinks.values()) if isinstance(answer, View) else ()
            if self._reading is read:
                self._reading = None
                if self._next:
                    following = self._reading = _Read(self._clock.now(), self._next)
                    self._next = []
        for done in read.waiting:
            done(answer)
        if isinstance(answer, View):
            for sink in sinks:
                sink(answer)
        if following is not None:
            self._send_read(following, timeout)

    # --- transactions ---

    def send(
        self,
        transaction: Transaction,
        done: SendDone,
        *,
        copy: int,
        timeout: float,
        riders: tuple[Put, ...] = (),
    ) -> Call:
        if not isinstance(transaction, Acquire):
            return self._inner.send(transaction, done, copy=copy, timeout=timeout, riders=riders)
        mine = _Try(transaction, done, copy, timeout)
        key = (transaction.lease_revision, transaction.term_revision, copy)
        with self._lock:
            contest = self._contests.get(key)
            if contest is not None:
                contest.held.append(mine)
                return mine
            self._contests[key] = _Contest()
        self._try(key, mine)
        return mine

    def _try(self, key: tuple[int, int, int], mine: _Try) -> None:
        def arrived(result: Applied | Failed) -> None:
            self._settle(key, mine, result)

        mine.call = self._inner.send(mine.transaction, arrived, copy=mine.copy, timeout=mine.timeout)

    def _settle(self, key: tuple[int, int, int], mine: _Try, result: Applied | Failed) -> None:
        following: _Try | None = None
        with self._lock:
            held = self._contests[key].held
            if isinstance(result, Failed):  # nothing is known: another's turn
                while held and following is None:
                    one = held.pop(0)
                    following = None if one.cancelled else one
            if following is None:
                del self._contests[key]
        mine.done(result)
        if following is not None:
            self._try(key, following)
        elif isinstance(result, Applied) and held:
            refused = _to_others(mine.transaction, result)
            for one in held:
                one.done(refused)


def _to_others(winner: Acquire, result: Applied) -> Applied:
    """What etcd would have answered, right afterwards, to the same compares."""
    if result.view is not None:
        return result
    lease = Seen(result.revision, winner.record.encode())
    term = Seen(result.revision, winner.term.encode())
    return Applied(succeeded=False, revision=result.revision, view=View(result.revision, lease, term))


class _Leave:
    """A watch; a `lockd.ports.Call`."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self.cancel = leave
