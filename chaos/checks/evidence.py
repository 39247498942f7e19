"""Evidence is an end that the kernel tells, never silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.checks.violation import Violation
from lockd.record import deposed_token

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.record import Action, Record
    from chaos.terms import Term

ENDING = frozenset({"reset", "refuse"})
"""Modes of a cut that end connections: of one that holds back nobody is told."""


def unfounded(record: Record) -> Iterator[Violation]:
    """Who was replaced by evidence and lived on to mark it had lost its peers' connections to a fault.

    Nothing else ends a connection whose process lives: neither a black hole, nor a pause, nor a busy machine.
    """
    for change in record.ledger.history.changes:
        token = deposed_token(change.value) if change.kind == "candidates" and change.value is not None else 0
        term = record.ledger.terms.by_token.get(token)
        if term is None or any(_founded(record, term, action) for action in record.actions):
            continue
        name = record.name(term.identity)
        yield Violation(
            check="unfounded-evidence",
            message=f"{name} was replaced by evidence while it lived, and no fault had ended its connections",
            revision=term.until_revision or change.revision,
            token=token,
            key=f"terms/{term.lock}",
            identity=term.identity,
            at=record.seen(term.until_revision),
            evidence=(
                f"{record.moment(record.seen(token))}  {name} began term {token}",
                f"{record.moment(record.seen(term.until_revision))}  term {term.until_revision} began in its place",
                f"{record.moment(record.seen(change.revision))}  {name} marked that it had been alive",
            ),
        )


def _founded(record: Record, term: Term, action: Action) -> bool:
    """Did this fault end connections of anybody's presence while the term lasted?"""
    began, ended = record.seen(term.token), record.seen(term.until_revision)
    if action.fault != "cut" or action.parameters.get("off", "etcd") == "etcd":
        return False
    if action.parameters.get("mode", "black-hole") not in ENDING:
        return False
    return (began is None or action.over_at >= began) and (ended is None or action.at <= ended)
