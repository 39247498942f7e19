"""Numbers for everything that a search meets, and what one thing does to another, worked out once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from lockd.config import ElectionConfig
from lockd.election import Election
from lockd.errors import OutcomeUnknown
from lockd.fencing import Guard
from lockd.ports import Acquire, Applied, Delete, Failed, Field, KeyEvent, Release, Renew, Seen, Txn, View, Which
from lockd.record import LeaderRecord, TermValue
from lockd.signals import PeerGone, Refused, Reply, StopRequested
from lockd.store import to_result, to_txn
from tests.harness.lock_store import LOCK, Keyspace
from tests.simulation.canonical import MOMENTS, lease_key, plain, same, term_key, timeless, transaction_key

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from lockd.ports import Transaction
    from lockd.signals import Input

DEAD: Final = -1
NO_TERMS: Final = b'{"terms":[]}'
LOST: Final = Failed(OutcomeUnknown("no answer"))


class World:
    """Elections, keyspaces and transactions by number. All that is asked twice is remembered.

    Attributes:
        first: The candidates before they did anything.
        machines: Elections, timeless.
        spaces: Keyspaces; 0 is the empty one.
        transactions: As `plain` has them.
    """

    def __init__(self, replicas: int, writes: int, *, one_history: bool, evidence: bool = False) -> None:
        self.machines: list[Election] = []
        self.spaces: list[Keyspace] = []
        self.transactions: list[Transaction] = []
        self._txns: list[Txn] = []
        self._numbers: dict[Hashable, int] = {}
        self._writes = writes
        self._one_history = one_history
        self._evidence = evidence
        self._names = "abcdefgh"[:replicas]
        self._accused: dict[tuple[int, int, int], str] = {}
        self._space(Keyspace())
        self.first = tuple(
            self._machine(
                Election(config=ElectionConfig(identity=name), nonce=f"nonce of {name}", secret=f"secret of {name}")
            )
            for name in self._names
        )
        for name in ("alone", "sends", "arrive", "answered", "begins", "spent", "waits", "possible", "stands"):
            setattr(self, name, cache(getattr(self, name)))
        for name in ("guarded", "rivals", "begun_by", "replaces_its_own", "deleted", "convinced"):
            setattr(self, name, cache(getattr(self, name)))

    # --- numbers ---

    def _machine(self, election: Election) -> int:
        number = self._numbers.setdefault(("machine", same(election)), len(self.machines))
        if number == len(self.machines):
            self.machines.append(timeless(election))
        return number

    def _space(self, space: Keyspace) -> int:
        key = ("space", space.revision, lease_key(space.seen(LOCK.lease)), term_key(space.seen(LOCK.term)))
        number = self._numbers.setdefault(key, len(self.spaces))
        if number == len(self.spaces):
            self.spaces.append(space)
        return number

    def _transaction(self, transaction: Transaction) -> int:
        number = self._numbers.setdefault(("transaction", transaction_key(transaction)), len(self.transactions))
        if number == len(self.transactions):
            self.transactions.append(transaction)
            self._txns.append(_without_history(to_txn(LOCK, transaction)))
        return number

    # --- what a candidate does ---

    def alone(self, machine: int, space: int, *, stops: bool) -> tuple[tuple[int, object], ...]:
        """What it becomes by itself, or by what it sees of the keys: each once, with the step."""
        election = self.machines[machine]
        found: dict[int, object] = {}
        for moment in self._moments(election):
            after, action = election.decide(moment)
            if not isinstance(action, Acquire | Renew | Release):
                found.setdefault(self._machine(after), action)
        for seen in self._news(election, self.spaces[space]):
            for after in self._observed(election, seen):
                found.setdefault(after, ("sees", seen))
        if stops and election.draining is None and election.ending is None:
            for after in self._observed(election, StopRequested()):
                found.setdefault(after, "is asked to stop")
        found.pop(machine, None)
        for after in found:
            self._honest(machine, after, space)
        return tuple(found.items())

    def _news(self, election: Election, space: Keyspace) -> Iterator[Input]:
        """A whole read, the watch of one key, a refused guarded write, a copy that failed."""
        lease, term = space.seen(LOCK.lease), space.seen(LOCK.term)
        yield _whole(space)
        yield KeyEvent(Which.LEASE, LOCK.lease, lease)
        yield KeyEvent(Which.TERM, LOCK.term, term)
        if election.hold is not None and not space.guarded(_guard(election).compares()):
            yield Refused(election.hold.token)
        for pending in (election.unsettled, election.releasing):
            if pending is not None:
                yield Reply(pending.transaction, LOST)

    def _observed(self, election: Election, seen: Input) -> list[int]:
        """What settles an acquire may come in time, or after the gate that it would have given."""
        settling = election.hold is None and election.unsettled is not None
        moments = (0.0, election.config.renew_deadline) if settling else (0.0,)
        return [self._machine(election.observe(seen, moment)) for moment in moments]

    def _honest(self, machine: int, after: int, space: int) -> None:
        stopped = self.machines[after].stopped
        if stopped is not None and stopped.released and self._one_history:
            assert not self.guarded(machine, space), f"{stopped}, but its guard holds"

    def sends(self, machine: int, space: int) -> tuple[tuple[int, int], ...]:
        """What it may send at whichever moment: the next machine and the transaction. Copies are left out."""
        election = self.machines[machine]
        if election.writes >= self._writes:
            return ()
        if election.hold is None and election.unsettled is None and election.ending is None:
            election = election.observe(_whole(self.spaces[space]), 0.0)
            record = election.observed.record
            forgotten = record is not None and record.holder_identity and election.wrote(record)
            assert not forgotten or isinstance(election.decide(0.0)[1], Acquire), f"it leaves its own record: {record}"
        found: dict[int, int] = {}
        for moment in self._moments(election):
            after, action = election.decide(moment)
            if isinstance(action, Acquire | Renew | Release) and after.copy == 0:
                number, transaction = self._machine(after), self._transaction(plain(action))
                found[number] = transaction
                if isinstance(action, Acquire) and action.record.takeover == "evidence":
                    self._accused[machine, number, transaction] = self._just(election, after, action)
        return tuple(found.items())

    def _moments(self, election: Election) -> tuple[float, ...]:
        """Where evidence is what is looked at, no lease runs out: a standby has nothing else to go by."""
        waits = election.hold is None and election.ending is None
        return MOMENTS[:1] if self._evidence and waits else MOMENTS

    @staticmethod
    def _just(election: Election, after: Election, acquire: Acquire) -> str:
        """Whom an acquire by evidence deposes: the swap fails unless the very record is there that names it."""
        lease, record, evidence = election.observed.lease, election.observed.record, after.evidence
        assert lease is not None
        assert record is not None
        assert evidence is not None
        assert acquire.lease_revision == lease.mod_revision
        assert record.holder_identity == evidence.identity, f"evidence against {evidence.identity} deposes {record}"
        assert record.fenced
        return f"{evidence.identity} in term {acquire.term_revision}"

    def swapped(self, machine: int, after: int, number: int) -> str:
        """Against which term the evidence is that this was sent on; "" for none."""
        return self._accused.get((machine, after, number), "")

    def convinced(self, machine: int, space: int) -> tuple[tuple[int, str], ...]:
        """What it becomes by evidence against anybody, true or false, after a look at the keys or without one."""
        election = self.machines[machine]
        found: dict[int, str] = {}
        for seen in (election, election.observe(_whole(self.spaces[space]), 0.0)):
            for name in self._names:
                found.setdefault(self._machine(seen.observe(PeerGone(name), 0.0)), f"has evidence against {name}")
        found.pop(machine, None)
        return tuple(found.items())

    def answered(self, machine: int, number: int, space: int, committed: int) -> tuple[int, ...]:
        """What it becomes by an answer: that this was committed at a revision, or (0) that it is refused now."""
        election, transaction = self.machines[machine], self.transactions[number]
        if committed:
            answer: Any = Applied(succeeded=True, revision=committed)
        else:
            answer = to_result(self.spaces[space].apply(self._txns[number])[1])
            assert not answer.succeeded
        found = dict.fromkeys(self._observed(election, Reply(transaction, answer)))
        for after in found:
            self._honest(machine, after, space)
        return tuple(found)

    def begins(self, machine: int, after: int) -> tuple[int, TermValue] | None:
        """The token and the acquisition, if the step between the two is the beginning of a hold."""
        hold = self.machines[after].hold
        if hold is None or self.machines[machine].hold is not None:
            return None
        assert hold.token > 0
        return int(hold.token), hold.term

    def spent(self, machine: int) -> bool:
        """It writes nothing any more, and waits for no answer: as good as dead."""
        election = self.machines[machine]
        if election.unsettled is not None or election.releasing is not None:
            return False
        over = election.ending is not None and not election.ending.release
        return over or election.stopped is not None or election.writes >= self._writes

    def waits(self, machine: int, number: int) -> bool:
        if machine == DEAD:
            return False
        election = self.machines[machine]
        wanted = self.transactions[number]
        return any(p is not None and p.transaction == wanted for p in (election.unsettled, election.releasing))

    # --- what etcd does ---

    def arrive(self, space: int, number: int) -> tuple[int, int]:
        """The keyspace after a copy came, and its revision."""
        after, _ = self.spaces[space].apply(self._txns[number])
        return self._space(after), after.revision

    def possible(self, space: int, number: int, *, deletions: bool) -> bool:
        """May it be committed, now or later? A revision that has passed never comes back, but an absent key may."""

        def may(txn: Txn) -> bool:
            holds = all(
                self.spaces[space].holds(compare) or (deletions and compare.field is Field.MOD and compare.operand == 0)
                for compare in txn.compares
            )
            return holds or any(may(op) for op in txn.otherwise if isinstance(op, Txn))

        return may(self._txns[number])

    def rivals(self, space: int, number: int) -> bool:
        """Is it an acquire or a renewal that would be committed now?"""
        renews = not isinstance(self.transactions[number], Release)
        return renews and self.possible(space, number, deletions=False)

    def deleted(self, space: int) -> tuple[int, ...]:
        """The keyspaces after a person deleted one key."""
        old = self.spaces[space]
        after = (old.apply(Txn((), (Delete(key),)))[0] for key in (LOCK.lease, LOCK.term))
        return tuple(self._space(new) for new in after if new != old)

    # --- who may write ---

    def stands(self, space: int) -> tuple[int, TermValue] | None:
        """The token and the value of the term that etcd has in force."""
        seen = self.spaces[space].seen(LOCK.term)
        value = TermValue.parse(seen.value) if seen.value is not None else None
        return (seen.revision, value) if value is not None and value.holder_identity else None

    def begun_by(self, number: int) -> TermValue | None:
        """The term's value that an acquire writes; None for another transaction."""
        transaction = self.transactions[number] if number >= 0 else None
        return transaction.term if isinstance(transaction, Acquire) else None

    def guarded(self, machine: int, space: int) -> bool:
        """Would a guarded write of this candidate be let through?"""
        if machine == DEAD or self.machines[machine].hold is None:
            return False
        return self.spaces[space].guarded(_guard(self.machines[machine]).compares())

    def replaces_its_own(self, space: int, number: int, term: tuple[int, int]) -> None:
        """S2, for a renewal or release that etcd would let through here, in the term with this token and acquire."""
        transaction, (token, acquire) = self.transactions[number], term
        assert not isinstance(transaction, Acquire)
        value = self.spaces[space].seen(LOCK.lease).value
        record = LeaderRecord.parse(value) if value is not None else None
        assert record is not None, f"S2: it brings back a record that is gone: {transaction}"
        assert record.holder_identity == transaction.term.holder_identity, f"S2: it overwrites {record}: {transaction}"
        assert transaction.token == token, f"S2: it is of a term before {token}: {transaction}"
        assert transaction.term == self.begun_by(acquire), f"S2: it writes in the term of another: {transaction}"


def _without_history(txn: Txn) -> Txn:
    """It decides nothing."""
    then = tuple(op for op in txn.then if getattr(op, "key", "") != LOCK.history)
    otherwise = tuple(_without_history(op) if isinstance(op, Txn) else op for op in txn.otherwise)
    return Txn(txn.compares, then, otherwise)


def _whole(space: Keyspace) -> View:
    lease, term = space.seen(LOCK.lease), space.seen(LOCK.term)
    history = Seen(term.revision, NO_TERMS) if term.value is not None else term
    return View(space.revision, lease, term, history)


def _guard(election: Election) -> Guard:
    assert election.hold is not None
    return Guard(LOCK.term, election.hold.token, election.hold.term.encode())
