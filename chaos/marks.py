"""Where in history a write is found by the mark that it carries."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockd.record import LeaderRecord, TermValue

if TYPE_CHECKING:
    from chaos.history import Change
    from chaos.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Marked:
    """One revision of a key that holds a mark.

    Attributes:
        created: The revision that began this life of the key, or of the mark where each write has its own.
    """

    key: str
    revision: int
    created: int


def marks(ledger: Ledger) -> dict[str, tuple[Marked, ...]]:
    """By mark, in revision order: an object's uid, a lease's renewal, a term's acquisition."""
    found: defaultdict[str, list[Marked]] = defaultdict(list)
    for write in ledger.writes:
        if write.after is not None and write.after.uid and write.kind != "events":
            found[write.after.uid].append(Marked(write.key, write.revision, write.created))
    for change in ledger.history.changes:
        mark = _own(change)
        if mark:
            found[mark].append(Marked(change.key, change.revision, change.revision))
    return {mark: tuple(writes) for mark, writes in found.items()}


def _own(change: Change) -> str:
    """The mark that each write to a lock's key carries anew."""
    if change.value is None:
        return ""
    if change.kind == "leases":
        record = LeaderRecord.parse(change.value)
        return record.renewal if record is not None else ""
    if change.kind == "terms":
        value = TermValue.parse(change.value)
        return value.acquisition if value is not None else ""
    return ""
