"""An event's key tells its author, and is used once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.checks.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.record import Record


def reused_keys(record: Record) -> Iterator[Violation]:
    """An event's key begins with its author's token, and no second event is ever put there.

    A create-if-absent succeeds again once the key has gone, so a copy of a transaction that commits late could
    otherwise write twice. Counting an event up in place, by its own author, is no reuse.
    """
    ledger = record.ledger
    lives: dict[str, int] = {
        change.key: change.created for change in ledger.history.baseline if change.kind == "events"
    }
    for write in ledger.writes:
        if write.kind != "events" or write.after is None:
            continue
        stem = write.key.rpartition("/")[2].partition("-")[0]
        problem = ""
        if stem != str(write.token):
            problem = f"the key is not its author's, whose token is {write.token}"
        elif lives.get(write.key, write.created) != write.created:
            problem = f"the key was used before, by an event made at revision {lives[write.key]}"
        lives[write.key] = write.created
        if problem:
            standing = ledger.terms.standing(write.revision)
            yield Violation(
                check="event-key-reused",
                revision=write.revision,
                key=write.key,
                token=write.token,
                term_token=standing.token if standing is not None else 0,
                message=problem,
            )
