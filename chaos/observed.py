"""Hand-offs as an auditing watch saw them: from the fault to what etcd's revisions show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from chaos.auditor import Stamp
    from chaos.ledger import Ledger
    from chaos.terms import Term


@dataclass(frozen=True, slots=True)
class Fault:
    """What was done to a leader.

    Attributes:
        what: For people, such as `kill -9`.
        target: The leader's identity.
        at: Just before it was done, on CLOCK_BOOTTIME.
    """

    what: str
    target: str
    at: float


@dataclass(frozen=True, slots=True)
class Observed:
    """One hand-off. Seconds since the fault, as etcd's commits reached the watch; None: it didn't come to that.

    Attributes:
        released: The old leader's release.
        held: The new leader's acquire.
        bound: The new leader's first bind.
    """

    fault: Fault
    successor: Term
    released: float | None
    held: float | None
    bound: float | None


def observe(ledger: Ledger, faults: Sequence[Fault], stamp: Callable[[int], Stamp | None]) -> tuple[Observed, ...]:
    """What followed each fault; one that no other term followed is left out.

    Args:
        stamp: When the watch brought a revision.
    """

    def after(fault: Fault, revision: int | None) -> float | None:
        seen = stamp(revision) if revision is not None else None
        return seen.now - fault.at if seen is not None else None

    return tuple(
        Observed(
            fault=fault,
            successor=new,
            released=after(fault, old.until_revision if old.until_revision != new.token else None),
            held=after(fault, new.token),
            bound=after(fault, next(_binds(ledger, new.token), None)),
        )
        for fault in faults
        for old, new in _successions(ledger)
        if old.identity == fault.target
    )


def moments(ledger: Ledger, stamp: Callable[[int], Stamp | None]) -> dict[int, float]:
    """When terms began and ended, by revision: seconds since the first one began, as the watch saw it."""
    terms = ledger.terms.by_token.values()
    revisions = {revision for term in terms for revision in (term.token, term.until_revision) if revision is not None}
    seen = {revision: found.now for revision in sorted(revisions) if (found := stamp(revision)) is not None}
    first = min(seen.values(), default=0.0)
    return {revision: now - first for revision, now in seen.items()}


def _successions(ledger: Ledger) -> Iterator[tuple[Term, Term]]:
    """Each term of a lock with the next one of that lock."""
    latest: dict[str, Term] = {}
    for term in ledger.terms.by_token.values():
        if term.lock in latest:
            yield latest[term.lock], term
        latest[term.lock] = term


def _binds(ledger: Ledger, token: int) -> Iterator[int]:
    """The revisions at which a term bound pods."""
    for write in ledger.writes:
        if write.token == token and write.kind == "pods" and write.after is not None and write.after.node:
            before = write.before.node if write.before is not None else ""
            if before != write.after.node:
                yield write.revision
