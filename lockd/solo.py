"""A term without an election: taken at once, renewed never, over when a newer one begins.

For `--leader-elect=false`. It is the newest process of its kind that acts: its term, begun by the same transaction as
any other, fences whoever acted before. So nothing is written without a guard, and two that run by mistake do no harm.
What is not there is the lease: nobody stands by for it, and no clock ends the term.
"""

from __future__ import annotations

import contextlib
import math
import queue
import secrets
import threading
from typing import TYPE_CHECKING, Final, Protocol

from component import logs, tracing
from component.clock import LONGEST_WAIT
from lockd import drafts
from lockd.drafts import Hold, Stamp
from lockd.election_spans import PREDECESSOR
from lockd.errors import LockError, StoreError
from lockd.etcd.retry import settle
from lockd.fencing import Guard, Token
from lockd.leadership import Leadership
from lockd.observed import Observed, Switchover
from lockd.ports import KeyEvent, TxnReply, View, Which
from lockd.signals import (
    ORDERLY,
    LostHistory,
    PartFailed,
    Refused,
    Stop,
    StopReason,
    StopRequested,
    WorkEnded,
)
from lockd.store import to_txn, to_view, whole_read

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from lockd.config import ElectionConfig
    from lockd.etcd.model import Listing
    from lockd.ports import Call, LockName, Put, Txn
    from lockd.signals import Input

NEVER_GIVES_UP: Final = 86_400.0
"""Seconds for an acquire: whether it was applied must be known."""

_log = logs.get("lockd.solo")


START: Final = "start"
"""How a term begins in the place of another that was neither released nor waited for."""


class Occupied(LockError):
    """The lock is in somebody's use who can't be fenced, or who would take it back: a person must decide."""


class Etcd(Protocol):
    """What is needed of a gateway."""

    def send(self, txn: Txn, done: Callable[[TxnReply | StoreError], None], *, copy: int = 0, timeout: float) -> Call:
        """Send one copy of a transaction."""
        ...

    def list(self, prefix: str, *, timeout: float) -> Listing:
        """All keys under a prefix."""
        ...


class Solo:
    """One term of a process that elects nobody.

    Args:
        watch: As a RecordStore's: shows when a newer term begins.
        work: As an elector's: on a thread of its own; its end ends the term.
        on_ending: Given the moment at which the end began: from then on it has the exit bound.
        on_work_error: Given what the work raised.
        riders: Given the token, the puts that the release carries.
    """

    def __init__(
        self,
        config: ElectionConfig,
        lock: LockName,
        etcd: Etcd,
        watch: Callable[[Callable[[KeyEvent | View], None]], Call],
        *,
        clock: Clock,
        work: Callable[[Leadership], None],
        on_ending: Callable[[float], None],
        on_work_error: Callable[[BaseException], None],
        riders: Callable[[int], tuple[Put, ...]],
        traceparent: str = "",
    ) -> None:
        self.config = config
        self.lock = lock
        self.leadership: Leadership | None = None
        self.ended_at: float | None = None
        self._etcd = etcd
        self._watch = watch
        self._clock = clock
        self._work = work
        self._on_ending = on_ending
        self._on_work_error = on_work_error
        self._riders = riders
        self._traceparent = traceparent
        self._followed = ""
        self._inbox: queue.SimpleQueue[Input] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._drained_by = math.inf

    # --- for other threads, as an elector's

    @property
    def leader(self) -> str:
        """This process, once its term has begun."""
        return self.config.identity if self.leadership is not None else ""

    def request_stop(self) -> None:
        """Finish what is in flight, release, end."""
        self._stop.set()
        self._inbox.put(StopRequested())

    def fail(self) -> None:
        """A part of the process that can't be done without has ended."""
        self._inbox.put(PartFailed())

    def lose_history(self) -> None:
        """Another part of the process found that etcd was restored, wiped or exchanged."""
        self._inbox.put(LostHistory())

    # --- the term

    def run(self) -> Stop:
        """Take the term, act, and end. The work may still be running when this returns; its leadership is lost.

        Raises:
            Occupied: An election is under way on this lock, or its holder can't be fenced.
            StoreError: etcd refuses, as for a wrong user.
        """
        hold = self._take()
        if hold is None:
            return Stop(StopReason.ASKED, led=False, released=False, asked=True)
        leadership = self._begin(hold)
        watch = self._watch(self._inbox.put)
        try:
            reason = self._last(hold, leadership)
        finally:
            leadership.lost.set()
            watch.cancel()
        self.ended_at = self._clock.now()
        self._on_ending(self.ended_at)
        asked = reason in ORDERLY
        released = (asked or reason is StopReason.PART_FAILED) and self._release(hold)
        (_log.info if asked else _log.error)("term without an election ended", reason=reason.value, released=released)
        return Stop(reason, led=True, released=released, asked=asked)

    def _take(self) -> Hold | None:
        """Begin a term in the place of whatever is there; None when the end is asked for before."""
        self._refuse_candidates()
        stamp = Stamp(secrets.token_hex(16), secrets.token_hex(16), self._clock.wall())
        while True:
            observed = self._observe()
            if observed is None:
                return None
            self._followed = observed.record.traceparent if observed.record is not None else ""
            acquire = drafts.acquire(
                self.config,
                observed,
                stamp,
                traceparent=self._traceparent,
                presence_address="",
                takeover=_takeover(observed),
            )
            sent = self._clock.now()
            reply = self._settle(to_txn(self.lock, acquire))
            if reply is None:
                return None
            token = reply.revision
            if not reply.succeeded:
                term = to_view(reply).term
                if term.value != acquire.term.encode():
                    continue  # somebody else came first: replace that one
                token = term.revision
            return Hold(Token(token), acquire.term, token, acquire.record, acquire.history, self._clock.now(), sent)

    def _refuse_candidates(self) -> None:
        found = self._etcd.list(self.lock.candidates, timeout=self.config.renew_deadline).kvs
        if names := [kv.key.removeprefix(self.lock.candidates) for kv in found]:
            raise Occupied(
                f"lock {self.lock.namespace}/{self.lock.name} has candidates ({', '.join(names)}): stop them, or leave "
                "out --leader-elect=false (one that was killed is forgotten after its lease duration)"
            )

    def _observe(self) -> Observed | None:
        reply = self._settle(whole_read(self.lock))
        if reply is None:
            return None
        view, now = to_view(reply), self._clock.now()
        observed = (Observed().with_lease(view.lease, now) or Observed()).with_term(view.term)
        if observed is None:
            raise AssertionError("the first sight of a key is news")
        record = observed.record
        if record is not None and record.holder_identity and not record.fenced:
            raise Occupied(
                f"lock {self.lock.namespace}/{self.lock.name} is held by {record.holder_identity}, whose effects etcd "
                "can't fence: stop it first"
            )
        return observed.with_history(view)

    def _settle(self, txn: Txn) -> TxnReply | None:
        """None when the end is asked for before there is an answer."""
        try:
            return settle(
                self._etcd,
                txn,
                clock=self._clock,
                stop=self._stop,
                attempt=self.config.attempt,
                within=NEVER_GIVES_UP,
            )
        except StoreError:
            if self._stop.is_set():
                return None
            raise

    def _begin(self, hold: Hold) -> Leadership:
        leadership = self.leadership = Leadership(
            identity=self.config.identity,
            guard=Guard(self.lock.term, hold.token, hold.term.encode()),
            traceparent=self._traceparent,
            gate=math.inf,
            work_timeout=self.config.work_timeout,
            clock=self._clock,
            refused=lambda token: self._inbox.put(Refused(token)),
            takeover=hold.record.takeover,
        )
        name, wall = f"{self.lock.namespace}/{self.lock.name}", self._clock.wall()
        tracing.emit(
            "leader_election.started_leading",
            start=wall,
            end=wall,
            traceparent=self._traceparent or None,
            links=[(self._followed, PREDECESSOR)] if self._followed else [],
            attributes={
                "identity": self.config.identity,
                "lock": name,
                "token": int(hold.token),
                "takeover": hold.record.takeover,
                "elected": False,
            },
        )
        _log.info("started a term without an election", lock=name, token=int(hold.token))
        threading.Thread(target=self._run_work, args=(leadership,), name="work", daemon=True).start()
        return leadership

    def _run_work(self, leadership: Leadership) -> None:
        try:
            self._work(leadership)
        except BaseException as error:  # noqa: BLE001 - whatever ends the work ends the term
            self._on_work_error(error)
            self._inbox.put(WorkEnded(raised=True))
        else:
            self._inbox.put(WorkEnded())

    def _last(self, hold: Hold, leadership: Leadership) -> StopReason:
        """Wait for what ends the term."""
        asked: StopReason | None = None
        while True:
            reason: StopReason | None = None
            with contextlib.suppress(queue.Empty):
                reason = self._judge(self._inbox.get(timeout=LONGEST_WAIT / 4), hold, asked)
            now = self._clock.now()
            if reason in ORDERLY and asked is None:
                asked = reason
                self._drained_by = now + self.config.drain_timeout + LONGEST_WAIT
                leadership.draining.set()
            elif reason is not None:
                return reason
            if asked is not None and now >= self._drained_by:
                return asked
            if asked is None and now >= leadership.work_until:
                return StopReason.WORK_HUNG

    def _judge(self, seen: Input, hold: Hold, asked: StopReason | None) -> StopReason | None:
        match seen:
            case KeyEvent(which=Which.TERM) if seen.seen.revision > hold.token:
                return StopReason.DELETED if seen.seen.value is None else StopReason.TERM_ENDED
            case View(term=term) if term.revision > hold.token:  # after a gap in the watch
                return StopReason.TERM_ENDED
            case KeyEvent(which=Which.SWITCHOVER):
                wish = Switchover.parse(seen.seen.value)
                return StopReason.SWITCHOVER if wish is not None and wish.token == hold.token else None
            case StopRequested():
                return StopReason.ASKED
            case WorkEnded(raised=raised):
                return asked or (StopReason.WORK_RAISED if raised else StopReason.WORK_RETURNED)
            case Refused():
                return StopReason.FENCED
            case PartFailed():
                return StopReason.PART_FAILED
            case LostHistory():
                return StopReason.HISTORY_LOST
        return None

    def _release(self, hold: Hold) -> bool:
        """Give the term back, within the exit bound."""
        stamp = Stamp(secrets.token_hex(16), secrets.token_hex(16), self._clock.wall())
        release = drafts.release(hold, stamp, successor="")
        try:
            reply = settle(
                self._etcd,
                to_txn(self.lock, release, self._riders(int(hold.token))),
                clock=self._clock,
                stop=threading.Event(),
                attempt=self.config.release_attempt,
                within=self.config.exit_seconds / 2,
            )
        except StoreError as error:
            _log.warning("the term was not released", error=str(error))
            return False
        # An earlier copy may have been applied: then the term is as this release put it.
        return reply.succeeded or to_view(reply).term.value == release.released.encode()


def _takeover(observed: Observed) -> str:
    told = observed.takeover()
    return told if told in {"first", "release"} else START
