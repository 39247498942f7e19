"""Terms begin and end as the protocol says, and the lease is its holder's alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaos.checks.violation import Violation
from chaos.history import transactions
from chaos.terms import holder
from lockd.record import LeaderRecord, TermValue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.history import Change
    from chaos.ledger import Ledger
    from chaos.record import Record


@dataclass(frozen=True, slots=True)
class _Step:
    """What one transaction did to one lock, and how the lock stood before."""

    lock: str
    revision: int
    lease: Change | None
    term: Change | None
    lease_holder: str
    """Whom the lease named before."""
    term_holder: str
    token: int
    """The token in force before; 0: none."""
    writer: str
    """What the renewals of the process begin with that put the lease for its holder before; "": nobody can tell."""

    def violation(self, check: str, key: str, message: str) -> Violation:
        return Violation(
            check=check,
            revision=self.revision,
            key=f"{key}/{self.lock}",
            token=self.revision if check == "term-acquire" else 0,
            term_token=self.token,
            message=message,
        )


def _lease_holder(change: Change) -> str | None:
    """Whom the lease names: "" when it was blanked or deleted, None when nobody can tell."""
    if change.value is None:
        return ""
    record = LeaderRecord.parse(change.value)
    return record.holder_identity if record is not None else None


def _writer(change: Change) -> str:
    """What all renewals of the process begin with that put this lease, and of no other; "": nobody can tell."""
    record = LeaderRecord.parse(change.value) if change.value is not None else None
    return record.renewal.rpartition("-")[0] if record is not None else ""


def _steps(ledger: Ledger) -> Iterator[_Step]:
    """Each transaction that touched a lease or term key, lock by lock, with the state before it."""
    leases: dict[str, str] = {}
    writers: dict[str, str] = {}
    terms: dict[str, tuple[str, int]] = {}

    def apply(change: Change) -> None:
        if change.kind == "leases":
            leases[change.name] = _lease_holder(change) or ""
            writers[change.name] = _writer(change)
        else:
            name = holder(change)
            terms[change.name] = (name, change.revision if name else 0)

    for change in ledger.history.baseline:
        if change.kind in ("leases", "terms"):
            apply(change)
    for revision, changes in transactions(ledger.history.changes):
        touched = [change for change in changes if change.kind in ("leases", "terms")]
        for lock in sorted({change.name for change in touched}):
            mine = {change.kind: change for change in touched if change.name == lock}
            term_holder, token = terms.get(lock, ("", 0))
            yield _Step(
                lock=lock,
                revision=revision,
                lease=mine.get("leases"),
                term=mine.get("terms"),
                lease_holder=leases.get(lock, ""),
                term_holder=term_holder,
                token=token,
                writer=writers.get(lock, ""),
            )
        for change in touched:
            apply(change)


def _judged(record: Record) -> Iterator[_Step]:
    """The steps that somebody else than a fault made."""
    by_hand = record.by_hand
    return (step for step in _steps(record.ledger) if step.revision not in by_hand)


def acquires(record: Record) -> Iterator[Violation]:
    """A term begins with its lease, and ends with it: both keys at one revision, naming the same holder."""
    acquisitions: set[tuple[str, str]] = set()
    for step in _judged(record):
        if step.term is None or step.term.value is None:
            continue
        value = TermValue.parse(step.term.value)
        if value is None:
            yield step.violation("term-acquire", "terms", "the term key got a value that can't be read")
            continue
        lease = _lease_holder(step.lease) if step.lease is not None and step.lease.value is not None else None
        if lease != value.holder_identity:
            what = f"a term of {value.holder_identity!r}" if value.holder_identity else "a released term"
            yield step.violation("term-acquire", "terms", f"{what} was put without its lease")
        if not value.holder_identity and not step.term_holder:
            yield step.violation("term-acquire", "terms", "a term was released that nobody held")
        if (step.lock, value.acquisition) in acquisitions:
            yield step.violation("term-acquire", "terms", f"acquisition {value.acquisition!r} was used before")
        acquisitions.add((step.lock, value.acquisition))


def leases(record: Record) -> Iterator[Violation]:
    """Between its acquire and its release only the holder of the term puts the lease, and never blank."""
    for step in _judged(record):
        if step.lease is None or step.lease.value is None or step.term is not None:
            continue
        named = _lease_holder(step.lease)
        if named and named == step.term_holder:
            continue
        held = f"the term is {step.term_holder}'s" if step.term_holder else "nobody holds the term"
        if named is None:
            yield step.violation("lease-not-holder", "leases", f"the lease got a value that can't be read; {held}")
        elif not named:
            yield step.violation("lease-not-holder", "leases", f"the lease was blanked without its term; {held}")
        elif step.term_holder and named != step.lease_holder:
            yield step.violation("term-overlap", "leases", f"{named} took the lease without a term; {held}")
        else:
            yield step.violation("lease-not-holder", "leases", f"{named} renewed the lease; {held}")


def releases(record: Record) -> Iterator[Violation]:
    """A term is released by the process that held it: its renewals begin all alike. Clients' locks change hands."""
    for step in _judged(record):
        if step.lock not in record.locks or step.lease is None or step.lease.value is None or step.term is None:
            continue
        released = step.term.value is not None and not holder(step.term) and step.lease_holder == step.term_holder
        by = _writer(step.lease)
        if released and step.term_holder and step.writer and by and by != step.writer:
            yield step.violation("foreign-release", "leases", f"the term of {step.term_holder} was released by another")


def deletions(record: Record) -> Iterator[Violation]:
    """A term key is never deleted: without it nothing refuses a write of the past."""
    for step in _judged(record):
        if step.term is not None and step.term.value is None:
            yield step.violation("term-deleted", "terms", "the term key was deleted")
