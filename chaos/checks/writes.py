"""Every write is its term's, or a user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.checks.authors import Authored, foreign
from chaos.checks.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.record import Record


def tokens(record: Record) -> Iterator[Violation]:
    """A write at revision r carries 0 or the token in force before r."""
    ledger = record.ledger
    written = (
        Authored(key=write.key, revision=write.revision, token=write.token, deletes=write.after is None)
        for write in ledger.writes
    )
    return foreign(ledger.terms, ledger.history.from_revision, written)


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
