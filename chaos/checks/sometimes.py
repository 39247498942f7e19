"""Rare conditions that a scenario may require to be seen: a check that never met them has shown little."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from chaos.beliefs import beliefs
from chaos.handoff import ACQUIRE, ANCHOR, RELEASE, RENEW
from chaos.marks import marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from chaos.record import Record


def _spans(name: str, **attributes: object) -> Callable[[Record], int]:
    """Counts spans of that name with these attributes."""

    def count(record: Record) -> int:
        return sum(
            attributes.items() <= span.attributes.items() for account in record.accounts for span in account.told(name)
        )

    return count


def _lines(event: str, **fields: object) -> Callable[[Record], int]:
    """Counts log lines of that event with these fields."""

    def count(record: Record) -> int:
        lines = (line for account in record.accounts for line in account.lines)
        return sum(line.event == event and fields.items() <= line.fields.items() for line in lines)

    return count


def _resent(record: Record) -> int:
    return sum(span.attributes.get("copies", 1) > 1 for account in record.accounts for span in account.told(RENEW))


def _unknown(*, applied: bool) -> Callable[[Record], int]:
    """Counts outcomes that nobody told, by what history tells of them."""

    def count(record: Record) -> int:
        known = marks(record.ledger)
        unknown = (each.mark for each in record.operations if each.outcome == "unknown" and each.mark)
        return sum((mark in known) is applied for mark in unknown)

    return count


def _believed_late(record: Record) -> int:
    """Terms whose holder still believed in them when the next one had begun; every write of its was refused then."""
    told = beliefs(record)
    terms = record.ledger.terms.by_token
    ends = {token: record.seen(term.until_revision) for token, term in terms.items()}
    return sum((end := ends.get(each.token)) is not None and each.ended > end + each.error for each in told)


SOMETIMES: Final[dict[str, tuple[str, Callable[[Record], int]]]] = {
    "takeover-by-release": ("a released lease was taken", _spans(ANCHOR, takeover="release")),
    "takeover-by-evidence": ("the end of a process was evidence enough", _spans(ANCHOR, takeover="evidence")),
    "takeover-by-expiry": ("a lease ran out", _spans(ANCHOR, takeover="expiry")),
    "acquire-conflict": ("two reached for one lease", _spans(ACQUIRE, outcome="conflict")),
    "renewal-resent": ("a renewal needed another copy", _resent),
    "renewal-lost": ("a renewal was refused", _spans(RENEW, outcome="lost")),
    "release-given-up": ("a release could not be settled in time", _spans(RELEASE, outcome="given up")),
    "bind-refused": ("a bind came after its term", _lines("bind refused: the term is over")),
    "write-refused": ("another write came after its term", _lines("write refused: the term is over")),
    "deposed-alive": (
        "a living leader was replaced by evidence",
        _lines("deposed while alive: mark left", evidence=True),
    ),
    "believed-late": ("a leader learned of its end after the next term had begun", _believed_late),
    "caches-waited": ("the caches were behind the term", _lines("caches behind the term: watching anew")),
    "listed-anew": ("a watch had to list anew", _lines("listing anew")),
    "etcd-silent": ("etcd did not answer the election", _lines("etcd does not answer the election")),
    "unknown-applied": (
        "an outcome that nobody told had taken effect",
        _unknown(applied=True),
    ),
    "unknown-lost": (
        "an outcome that nobody told never took effect",
        _unknown(applied=False),
    ),
}
"""By name: what it means, and how often a record shows it."""


def seen(records: Iterable[Record]) -> dict[str, int]:
    """How often each condition was met, over all trials."""
    total: Counter[str] = Counter(dict.fromkeys(SOMETIMES, 0))
    for record in records:
        total.update({name: count(record) for name, (_, count) in SOMETIMES.items()})
    return dict(total)


def never(wanted: Iterable[str], counts: Mapping[str, int]) -> tuple[str, ...]:
    """One line for each wanted condition that was never met.

    Raises:
        KeyError: There is no such condition.
    """
    missed = [name for name in wanted if not counts[name]]
    return tuple(f"{name} was never seen: {SOMETIMES[name][0]}" for name in missed)
