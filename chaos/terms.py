"""The terms that a history shows, and which one was in force when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockd.record import TermValue

if TYPE_CHECKING:
    from chaos.history import Change, History


@dataclass(frozen=True, slots=True)
class Term:
    """One term of one lock.

    Attributes:
        lock: `<namespace>/<name>`.
        token: The fencing token: the revision of the acquiring transaction.
        identity: The holder's.
        until_revision: The revision that ended it, by a release, a successor or a deletion of the key; None: it lasts.
    """

    lock: str
    token: int
    identity: str
    until_revision: int | None = None

    def in_force_before(self, revision: int) -> bool:
        """Did the term stand when the transaction of `revision` was judged by etcd?"""
        return self.token < revision and (self.until_revision is None or revision <= self.until_revision)


@dataclass(frozen=True, slots=True)
class Terms:
    """All terms of a history, by token (a token is a revision, so no two locks share one)."""

    by_token: dict[int, Term]

    @classmethod
    def of(cls, history: History) -> Terms:
        terms: dict[int, Term] = {}
        current: dict[str, int] = {}
        for change in history.everything():
            if change.kind != "terms":
                continue
            token = current.pop(change.name, None)
            if token is not None:
                terms[token] = replace(terms[token], until_revision=change.revision)
            if identity := holder(change):
                terms[change.revision] = Term(change.name, change.revision, identity)
                current[change.name] = change.revision
        return cls(dict(sorted(terms.items())))

    def standing(self, revision: int, *, lock: str | None = None) -> Term | None:
        """The newest term in force before `revision`, of one lock or of any."""
        candidates = (
            term
            for term in reversed(self.by_token.values())
            if lock in (None, term.lock) and term.in_force_before(revision)
        )
        return next(candidates, None)


def holder(change: Change) -> str:
    """The holder that a change of a term key names: "" after a release, a deletion or a value that can't be read."""
    value = TermValue.parse(change.value) if change.value is not None else None
    return value.holder_identity if value is not None else ""
