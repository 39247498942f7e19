"""The loop around the election: it does the I/O, keeps the time, and decides nothing."""

from __future__ import annotations

import queue
import secrets
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from component.clock import LONGEST_WAIT
from lockd.election import Election
from lockd.errors import HistoryLost, LeaseNotFound, StoreError
from lockd.fencing import Guard
from lockd.leadership import Leadership
from lockd.lifeline import Lifeline
from lockd.ports import Acquire, Applied, Failed, Release, Renew, View
from lockd.signals import (
    Abandoned,
    KeepAlive,
    LostHistory,
    PartFailed,
    PeerGone,
    Read,
    ReadFailed,
    Refused,
    Reply,
    Stop,
    StopRequested,
    Wait,
    WorkEnded,
)
from lockd.watchdog import renewal_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from component.clock import Clock
    from lockd.config import ElectionConfig
    from lockd.lifeline import Claim
    from lockd.ports import Call, LockName, Put, RecordStore, Transaction
    from lockd.signals import Action, Input


def _nothing(*_: object) -> None:
    """The default of a callback."""


def _no_riders(_: int) -> tuple[Put, ...]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """What an elector calls. All but the work run on the elector's thread and must return at once.

    Attributes:
        on_started_leading: The work, on a thread of its own. Its end, by return or raise, ends the term. None: it is
            done elsewhere, and `end_work` tells that it has ended.
        on_new_leader: Given the identity whenever another holder is observed; "" when nobody holds the lock.
        on_gate: Given the moment until which the term holds, whenever that moves.
        on_step: Given the election before and after each step that changed it, and when.
        on_work_error: Given what the work raised.
        on_degraded: Given the error when calls begin to fail, and None when one succeeds again.
        riders: Given the token, the puts that the release carries; the same each time it is asked.
    """

    on_started_leading: Callable[[Leadership], None] | None
    on_new_leader: Callable[[str], None] = _nothing
    on_gate: Callable[[float], None] = _nothing
    on_step: Callable[[Election, Election, float], None] = _nothing
    on_work_error: Callable[[BaseException], None] = _nothing
    on_degraded: Callable[[StoreError | None], None] = _nothing
    riders: Callable[[int], tuple[Put, ...]] = _no_riders


@dataclass(slots=True)
class _Calls:
    """Calls on their way, so that they can be cancelled when nothing they bring is of use any more."""

    open: list[Call] = field(default_factory=list)

    def add(self, call: Call) -> None:
        self.open.append(call)
        del self.open[:-16]  # the oldest are long past their deadline

    def cancel(self) -> None:
        while self.open:
            self.open.pop().cancel()


class Elector:
    """One candidacy for one lock. A library: it ends with a reason, and never exits the process.

    Args:
        traceparent: W3C trace context that the anchor of its term will have.
        presence_address: Goes into the record; "" for none.
        for_client: The holder is a client elsewhere: renewals wait for its keep-alives.
        claim: A term of that client to take up again; none other is begun.
    """

    def __init__(
        self,
        config: ElectionConfig,
        lock: LockName,
        store: RecordStore,
        *,
        clock: Clock,
        callbacks: Callbacks,
        traceparent: str = "",
        presence_address: str = "",
        for_client: bool = False,
        claim: Claim | None = None,
    ) -> None:
        self.config = config
        self.lock = lock
        self.leadership: Leadership | None = None
        self._store = store
        self._clock = clock
        self._callbacks = callbacks
        self._inbox: queue.SimpleQueue[Input] = queue.SimpleQueue()
        self._calls = _Calls()
        self._riders: tuple[Put, ...] | None = None
        self._leader: str | None = None
        self._trouble = ""
        self._answered = clock.now()
        self._election = Election(
            config=config,
            nonce=secrets.token_hex(16),
            secret=secrets.token_hex(16),
            traceparent=traceparent,
            presence_address=presence_address,
            lifeline=Lifeline(clock.now()) if for_client else None,
            claim=claim,
        )

    # --- for other threads ---

    @property
    def election(self) -> Election:
        """The present value; frozen, so that any thread may read it."""
        return self._election

    @property
    def leader(self) -> str:
        """The identity last observed to hold the lock; "" for nobody or not known."""
        return self._leader or ""

    def advertise(self, presence_address: str) -> None:
        """Before `run`: where the presence of this process listens, for the record of its term."""
        self._election = replace(self._election, presence_address=presence_address)

    def request_stop(self) -> None:
        """Finish what is in flight, release, end."""
        self._inbox.put(StopRequested())

    def end_work(self) -> None:
        """The work that is done elsewhere has ended: what it held may be given back."""
        self._inbox.put(WorkEnded())

    def keep_alive(self, number: int) -> None:
        """The client lives, by its own count."""
        self._inbox.put(KeepAlive(number))

    def abandon(self) -> None:
        """The client's stream broke: end; a term that it knows of is left to run out, or to be taken up elsewhere."""
        self._inbox.put(Abandoned())

    def fail(self) -> None:
        """A part of the process that can't be done without has ended: end too, and release."""
        self._inbox.put(PartFailed())

    def accuse(self, identity: str) -> None:
        """There is evidence that the process with this identity is gone."""
        self._inbox.put(PeerGone(identity))

    def lose_history(self) -> None:
        """Another part of the process found that etcd was restored, wiped or exchanged."""
        self._inbox.put(LostHistory())

    def check(self) -> str | None:
        """The health check `leaderElection`: a problem when the leader couldn't renew for far too long."""
        hold = self._election.hold
        return renewal_problem(
            leading=hold is not None and hold.led,
            last_renewal=hold.sent if hold is not None else 0.0,
            now=self._clock.now(),
            lease_duration=self.config.lease_duration,
            name=self.lock.name,
        )

    def trouble(self) -> str | None:
        """A readiness check: why etcd doesn't serve the election, for two retry periods and more; None when it does."""
        return f"etcd does not serve the election: {self._trouble}" if self._trouble else None

    # --- the loop ---

    def run(self) -> Stop:
        """Stand by, lead, and end. The work may still be running when this returns; its leadership is lost."""
        for _ in self.turns():
            continue
        if self._election.stopped is None:
            raise AssertionError("turns end when the election has stopped")
        return self._election.stopped

    def turns(self, longest: float = LONGEST_WAIT) -> Iterator[None]:
        """The same, a turn at a time: for whoever has something else to do on this thread after each, and does it soon.

        To be walked through to its end.

        Args:
            longest: Seconds that a turn takes at most; no longer than `LONGEST_WAIT`.
        """
        watch = self._store.watch(self._inbox.put)
        try:
            while not isinstance(action := self._step(), Stop):
                match action:
                    case Wait(seconds=seconds):
                        self._take(min(seconds, longest))
                    case Read():
                        self._read()
                    case Acquire() | Renew() | Release() as transaction:
                        self._send(transaction)
                yield
        finally:
            if self.leadership is not None:
                self.leadership.lost.set()
            self._calls.cancel()
            watch.cancel()

    def _step(self) -> Action:
        now = self._clock.now()  # before the send that this step may ask for: the gate counts from here
        before = self._election
        ticked = before.progress(self.leadership.work_until) if self.leadership is not None else before
        after, action = ticked.decide(now, self._clock.wall())
        self._become(before, after, now)
        return action

    def _take(self, seconds: float) -> None:
        """Observe what came, waiting for the first of it."""
        try:
            seen = self._inbox.get(timeout=seconds)
            while True:
                now = self._clock.now()
                self._become(self._election, self._election.observe(seen, now), now)
                seen = self._inbox.get_nowait()
        except queue.Empty:
            return

    def _become(self, before: Election, after: Election, now: float) -> None:
        """Take on the next value, and let the rest of the process know at once."""
        self._election = after
        if after is before:
            return
        if after.gate > before.gate:
            if self.leadership is None:
                self.leadership = self._begin(after)
            self.leadership.renewed(after.gate)
            self._callbacks.on_gate(after.gate)
        leadership = self.leadership
        if leadership is not None:
            if after.draining is not None:
                leadership.draining.set()
            if after.ending is not None or after.stopped is not None:
                leadership.lost.set()
        self._callbacks.on_step(before, after, now)
        record = after.observed.record
        if record is not None and record.holder_identity != self._leader:
            self._leader = record.holder_identity
            self._callbacks.on_new_leader(self._leader)

    def _begin(self, election: Election) -> Leadership:
        if election.hold is None:
            raise AssertionError("a term begins with a hold")
        leadership = Leadership(
            identity=self.config.identity,
            guard=Guard(self.lock.term, election.hold.token, election.hold.term.encode()),
            traceparent=election.traceparent,
            gate=election.gate,
            work_timeout=self.config.work_timeout,
            clock=self._clock,
            refused=lambda token: self._inbox.put(Refused(token)),
            takeover=election.hold.record.takeover,
        )
        if (work := self._callbacks.on_started_leading) is not None:
            threading.Thread(target=self._work, args=(leadership, work), name="work", daemon=True).start()
        return leadership

    def _work(self, leadership: Leadership, work: Callable[[Leadership], None]) -> None:
        try:
            work(leadership)
        except BaseException as error:  # noqa: BLE001 - whatever ends the work ends the term
            self._callbacks.on_work_error(error)
            self._inbox.put(WorkEnded(raised=True))
        else:
            self._inbox.put(WorkEnded())

    # --- calls ---

    def _read(self) -> None:
        def done(answer: View | StoreError) -> None:
            error = None if isinstance(answer, View) else answer
            if error or self._election.unsettled is None:  # a full etcd still reads: the answer to the write counts
                self._note(error)
            self._inbox.put(answer if isinstance(answer, View) else ReadFailed())

        self._calls.add(self._store.read(done, timeout=self.config.renew_deadline))

    def _send(self, transaction: Transaction) -> None:
        def done(result: Applied | Failed) -> None:
            self._note(result.error if isinstance(result, Failed) else None)
            if isinstance(transaction, Release) and isinstance(result, Failed):
                self._unload(result.error)
            self._inbox.put(Reply(transaction, result))

        if isinstance(transaction, Release) and self._riders is None:
            self._calls.cancel()  # nothing they bring is waited for, and a release may overtake a renewal
            self._riders = self._callbacks.riders(transaction.token)
        election = self._election
        call = self._store.send(
            transaction,
            done,
            copy=election.copy,
            timeout=election.patience(self._clock.now()),
            riders=self._riders or () if isinstance(transaction, Release) else (),
        )
        if not isinstance(transaction, Release):  # whose copies are of use after the end, wherever the process lives on
            self._calls.add(call)

    def _unload(self, error: StoreError) -> None:
        """What rides with a release must not keep it from being made: an etcd lease of a rider may be gone."""
        if isinstance(error, LeaseNotFound):
            self._riders = ()

    def _note(self, error: StoreError | None) -> None:
        """From any thread: tell once when calls begin to fail, and once when they succeed again."""
        if isinstance(error, HistoryLost):
            self.lose_history()
        if self._election.stopped is not None:  # what is cancelled at the end says nothing about etcd
            return
        now = self._clock.now()
        if error is None:
            self._answered = now
        before = self._trouble
        # One member that is down costs each renewal a copy, and nothing else: that is not worth a word.
        degraded = error is not None and (bool(before) or now - self._answered > 2 * self.config.retry_period)
        self._trouble = str(error) if degraded else ""
        if bool(before) != degraded:
            self._callbacks.on_degraded(error)
