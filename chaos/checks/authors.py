"""Writes and their authors' tokens, judged by the terms in force: whoever's the values are that carry the tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaos.checks.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chaos.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Authored:
    """One write to one key.

    Attributes:
        revision: Of its transaction.
        token: The author's fencing token; 0: nobody's who leads.
        deletes: Was the key deleted?
    """

    key: str
    revision: int
    token: int
    deletes: bool = False


def foreign(terms: Terms, from_revision: int, writes: Iterable[Authored]) -> Iterator[Violation]:
    """The writes that carry a token other than the one in force before them.

    Args:
        terms: All that are known.
        from_revision: The oldest revision that these are known from.
    """
    for write in writes:
        if write.token == 0:
            continue
        term = terms.by_token.get(write.token)
        if term is not None and term.in_force_before(write.revision):
            continue
        standing = terms.standing(write.revision, lock=term.lock if term is not None else None)
        name, reason = _reason(terms, from_revision, write)
        yield Violation(
            check=name,
            revision=write.revision,
            key=write.key,
            token=write.token,
            term_token=standing.token if standing is not None else 0,
            message=f"{'delete' if write.deletes else 'put'} with token {write.token}, {reason}; "
            + (f"in force was {standing.token} ({standing.identity})" if standing is not None else "none was in force"),
        )


def _reason(terms: Terms, from_revision: int, write: Authored) -> tuple[str, str]:
    term = terms.by_token.get(write.token)
    if write.token >= write.revision:
        return "token-from-the-future", "which no term could have had yet"
    if term is not None:
        return "stale-token", f"whose term ({term.identity}) ended at revision {term.until_revision}"
    if write.token < from_revision:
        return "stale-token", "whose term ended before the history begins"
    return "unknown-token", "which is no term's"
