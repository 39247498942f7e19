"""A pod is left pending because no node takes it, and for no other reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.checks.violation import Violation
from chaos.unplaced import unplaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.record import Record


def needless_waits(record: Record) -> Iterator[Violation]:
    """No node passes for a pod that is left pending: each is asked once more, by a reading of the rules of its own."""
    ledger = record.ledger
    for each in unplaced(ledger) if record.settled else ():
        if each.verdict.fits:
            standing = ledger.terms.standing(each.pod.seen)
            yield Violation(
                check="needless-wait",
                revision=each.pod.seen,
                key=each.pod.key,
                token=each.pod.token,
                term_token=standing.token if standing is not None else 0,
                message=f'is pending ("{each.message}"), and {each.verdict.fits} would take it',
            )
