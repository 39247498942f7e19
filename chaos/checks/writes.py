"""Every write is its term's, or a user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.checks.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.ledger import Ledger, Write
    from chaos.record import Record


def tokens(record: Record) -> Iterator[Violation]:
    """A write at revision r carries 0 or the token in force before r."""
    ledger = record.ledger
    for write in ledger.writes:
        if write.token == 0:
            continue
        term = ledger.terms.by_token.get(write.token)
        if term is not None and term.in_force_before(write.revision):
            continue
        standing = ledger.terms.standing(write.revision, lock=term.lock if term is not None else None)
        name, reason = _reason(ledger, write)
        yield Violation(
            check=name,
            revision=write.revision,
            key=write.key,
            token=write.token,
            term_token=standing.token if standing is not None else 0,
            message=f"{'delete' if write.after is None else 'put'} with token {write.token}, {reason}; "
            + (f"in force was {standing.token} ({standing.identity})" if standing is not None else "none was in force"),
        )


def _reason(ledger: Ledger, write: Write) -> tuple[str, str]:
    term = ledger.terms.by_token.get(write.token)
    if write.token >= write.revision:
        return "token-from-the-future", "which no term could have had yet"
    if term is not None:
        return "stale-token", f"whose term ({term.identity}) ended at revision {term.until_revision}"
    if write.token < ledger.history.from_revision:
        return "stale-token", "whose term ended before the history begins"
    return "unknown-token", "which is no term's"


def readable(record: Record) -> Iterator[Violation]:
    """A value under an object's key is a stored object: of any other, nobody can say who wrote it."""
    ledger = record.ledger
    for change, reason in ledger.unreadable:
        standing = ledger.terms.standing(change.revision)
        yield Violation(
            check="unreadable-object",
            revision=change.revision,
            key=change.key,
            token=0,
            term_token=standing.token if standing is not None else 0,
            message=f"the value is no stored object: {reason}",
        )
