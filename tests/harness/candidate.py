"""An election played by hand on a `LockStore`: the test says when it is, what arrives, and what is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from lockd.config import ElectionConfig
from lockd.election import Election
from lockd.errors import OutcomeUnknown
from lockd.fencing import Guard
from lockd.ports import Acquire, Failed, KeyEvent, Release, Renew, Which
from lockd.record import LeaderRecord, TermValue
from lockd.signals import Read, Reply, Stop, StopRequested, Wait, WorkEnded

if TYPE_CHECKING:
    from lockd.ports import Applied, Transaction
    from lockd.signals import Action, Input
    from tests.harness.lock_store import Flight, LockStore

T = TypeVar("T", Acquire, Renew, Release)

START = 1000.0
WALL = 1_700_000_000.0
LONGEST = 50
"""Actions at one moment: more than any sane machine asks for."""


def unknown() -> Failed:
    """What a copy brings whose deadline passed."""
    return Failed(OutcomeUnknown("no answer", operation="KV/Txn", endpoint="etcd:2379", code="DEADLINE_EXCEEDED"))


@dataclass(slots=True)
class Candidate:
    """One election, its clock, and all that it sent.

    Attributes:
        now: Seconds on its own clock.
        working: Its work makes progress.
        ops: What it asked for, in order: `read`, `acquire`, `renew`, `release`; a copy ends in `again`.
        flights: One for each transaction, in the order of their first copies.
    """

    store: LockStore
    election: Election
    now: float = START
    working: bool = True
    ops: list[str] = field(default_factory=list)
    flights: list[Flight] = field(default_factory=list)

    @classmethod
    def of(cls, store: LockStore, identity: str, *, nonce: str = "", now: float = START, **config: Any) -> Candidate:
        nonce = nonce or f"nonce of {identity}."
        election = Election(
            config=ElectionConfig(identity=identity, **config), nonce=nonce, secret=f"secret of {nonce}", traceparent=""
        )
        return cls(store, election, now)

    # --- what the machine is told ---

    def see(self, seen: Input) -> Candidate:
        self.election = self.election.observe(seen, self.now)
        return self

    def answer(self, transaction: Transaction, result: Applied | Failed) -> Candidate:
        return self.see(Reply(transaction, result))

    def stop(self) -> Candidate:
        return self.see(StopRequested())

    def work_ends(self, *, raised: bool = False) -> Candidate:
        return self.see(WorkEnded(raised=raised))

    def watch(self) -> Candidate:
        """Deliver the present state of lease and term as events."""
        lock = self.store.lock
        for which, key in ((Which.LEASE, lock.lease), (Which.TERM, lock.term)):
            self.see(KeyEvent(which, key, self.store.space.seen(key)))
        return self

    # --- what the machine asks for ---

    def decide(self) -> Action:
        """One decision, at this candidate's moment."""
        if self.working and self.leads:
            self.election = self.election.progress(self.now + self.election.config.work_timeout)
        self.election, action = self.election.decide(self.now, WALL + self.now)
        match action:
            case Read():
                self.ops.append("read")
            case Acquire() | Renew() | Release():
                name = type(action).__name__.lower()
                self.ops.append(name if self.election.copy == 0 else f"{name} again")
                if self.election.copy == 0:
                    self.flights.append(self.store.send(action))
            case _:
                pass
        return action

    def at(self, now: float) -> Candidate:
        self.now = now
        return self

    def later(self, seconds: float) -> Candidate:
        self.now += seconds
        return self

    def run(self) -> Action:
        """Decide until nothing is left to do now; etcd answers everything at once. The last action: Wait or Stop."""
        for _ in range(LONGEST):
            action = self.decide()
            match action:
                case Read():
                    self.see(self.store.view())
                case Acquire() | Renew() | Release():
                    self.answer(action, self.flight.commit())
                case _:
                    return action
        raise AssertionError(f"still not at rest: {self.ops}")

    def send(self, kind: type[T]) -> T:
        """Decide until this transaction is sent, which is left in flight; reads are answered."""
        for _ in range(LONGEST):
            action = self.decide()
            if isinstance(action, kind):
                return action
            assert isinstance(action, Read), f"expected {kind.__name__}, not {action}"
            self.see(self.store.view())
        raise AssertionError(f"no {kind.__name__}: {self.ops}")

    def run_until(self, moment: float) -> Action:
        """Let time pass, with etcd answering everything at once; the last action."""
        action = self.run()
        while isinstance(action, Wait) and self.now + action.seconds < moment:
            self.later(max(action.seconds, 1e-6))
            action = self.run()
        if isinstance(action, Stop):
            return action
        self.now = moment
        return self.run()

    # --- what is known of it ---

    @property
    def flight(self) -> Flight:
        """The last transaction's."""
        return self.flights[-1]

    @property
    def leads(self) -> bool:
        """Does it believe to lead, now, on its own clock?"""
        return self.now < self.election.gate

    @property
    def token(self) -> int:
        if self.election.hold is None:
            raise AssertionError("it holds nothing")
        return self.election.hold.token

    @property
    def guard(self) -> Guard:
        if self.election.hold is None:
            raise AssertionError("it holds nothing")
        return Guard(self.store.lock.term, self.election.hold.token, self.election.hold.term.encode())

    @property
    def stopped(self) -> Stop:
        if self.election.stopped is None:
            raise AssertionError("it has not stopped")
        return self.election.stopped


def record_in(store: LockStore) -> LeaderRecord:
    """The election record as stored."""
    value = store.value(store.lock.lease)
    record = LeaderRecord.parse(value) if value is not None else None
    if record is None:
        raise AssertionError(f"no record: {value!r}")
    return record


def holder_in(store: LockStore) -> str:
    return record_in(store).holder_identity


def put_record(store: LockStore, **fields: Any) -> int:
    """Somebody else's record, with a term key of its own; the new revision of the lease key."""
    record = LeaderRecord(**fields)
    if record.holder_identity:
        store.put(store.lock.term, TermValue(record.holder_identity, f"acquisition of {store.revision}").encode())
    return store.put(store.lock.lease, record.encode())
