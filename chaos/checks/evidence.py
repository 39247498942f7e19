"""Evidence is an end that the kernel tells, never silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.checks.violation import Violation
from lockd.record import LeaderRecord, deposed_token

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.record import Action, Record
    from chaos.terms import Term

ENDING = frozenset({"reset", "refuse"})
"""Modes of a cut that end connections: of one that holds back nobody is told."""


def unfounded(record: Record) -> Iterator[Violation]:
    """Who was replaced by evidence and lived on to tell of it had lost its peers' connections to a fault.

    It tells by a mark in its candidate key, if it can write it in time, or by what it began later by its own trace.
    Nothing else ends a connection whose process lives: neither a black hole, nor a pause, nor a busy machine.
    """
    marks = dict(_marks(record))
    for term in _replaced(record):
        token = term.token
        told = marks[token] if token in marks else _later(record, term)
        if told is None or any(_founded(record, term, action) for action in record.actions):
            continue
        name = record.name(term.identity)
        yield Violation(
            check="unfounded-evidence",
            message=f"{name} was replaced by evidence while it lived, and no fault had ended its connections",
            revision=term.until_revision or 0,
            token=token,
            key=f"terms/{term.lock}",
            identity=term.identity,
            at=record.seen(term.until_revision),
            evidence=(
                f"{record.moment(record.seen(token))}  {name} began term {token}",
                f"{record.moment(record.seen(term.until_revision))}  term {term.until_revision} began in its place",
                told,
            ),
        )


def _replaced(record: Record) -> Iterator[Term]:
    """The terms in whose place another began by evidence."""
    began = {
        change.revision: LeaderRecord.parse(change.value)
        for change in record.ledger.history.changes
        if change.kind == "leases" and change.value is not None and change.revision in record.ledger.terms.by_token
    }
    for term in record.ledger.terms.by_token.values():
        successor = began.get(term.until_revision or 0)
        if successor is not None and successor.takeover == "evidence":
            yield term


def _marks(record: Record) -> Iterator[tuple[int, str]]:
    """By the token of the term that it is about: that a mark says that its holder was alive."""
    for change in record.ledger.history.changes:
        if change.kind == "candidates" and change.value is not None and (token := deposed_token(change.value)):
            term = record.ledger.terms.by_token.get(token)
            name = record.name(term.identity) if term is not None else ""
            yield token, f"{record.moment(record.seen(change.revision))}  {name} marked that it had been alive"


def _later(record: Record, term: Term) -> str | None:
    """The first thing that the holder of a term began after it was replaced; None: it told of none."""
    account, ended = record.account(term.identity), record.seen(term.until_revision)
    if account is None or ended is None:
        return None
    later = next((span for span in account.spans if span.start > ended + account.error), None)
    if later is None:
        return None
    return f"{record.moment(later.start)}  {record.name(term.identity)} began {later.name}"


def _founded(record: Record, term: Term, action: Action) -> bool:
    """Did this fault end connections of anybody's presence while the term lasted?"""
    began, ended = record.seen(term.token), record.seen(term.until_revision)
    if action.fault != "cut" or action.parameters.get("off", "etcd") == "etcd":
        return False
    if action.parameters.get("mode", "black-hole") not in ENDING:
        return False
    return (began is None or action.over_at >= began) and (ended is None or action.at <= ended)
