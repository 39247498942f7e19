"""What a scenario expects of each trial, judged. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chaos.measure.phases import NAMES, phases_of, successions
from chaos.scenario.length import Length
from component.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.record import Record
    from chaos.scenario.model import Scenario
    from chaos.terms import Term


SEEN: Final = frozenset({"elected", "first_bind"})
"""Phases that etcd's history shows: the others are told by replicas."""


def wanted(scenario: Scenario, *, traced: bool = True) -> tuple[str, ...]:
    """The phases that each trial must reach.

    Args:
        traced: Do replicas tell what they did? Otherwise only what etcd's history shows can be wanted.
    """
    if scenario.expectations.leader != "changes":
        return ()
    bound = scenario.workload.kind not in ("lock-only", "none")
    return tuple(name for name in NAMES if (bound or name != "first_bind") and (traced or name in SEEN))


def unmet(scenario: Scenario, record: Record, *, began: float, ended: float, traced: bool = True) -> Iterator[str]:
    """What one trial did not show, one line each.

    Args:
        record: Of the trial alone as far as actions and gaps go.
        began: When the trial did, on the clock of the record's stamps.
    """
    expected = scenario.expectations
    phases = phases_of(record)
    yield from (
        f"phase {name} was not reached" for name in wanted(scenario, traced=traced) if phases.reached(name) is None
    )
    terms = tuple(_begun(record, began, ended))
    if expected.leader == "changes" and not terms:
        yield "another leader was expected, and no term began"
    if expected.leader == "stays" and terms:
        told = ", ".join(f"{record.name(term.identity)} began term {term.token}" for term in terms)
        yield f"the leader was expected to stay, and {told}"
    if expected.takeover:
        yield from (
            f"term {each.new.token} began by {each.takeover}, not by {' or '.join(expected.takeover)}"
            for each in successions(record)
            if each.takeover and each.takeover not in expected.takeover
        )
    gap = max((each.seconds for each in record.gaps), default=None)
    for what, seconds, least, most in (
        ("the failover", phases.elected, expected.failover_at_least, expected.failover_at_most),
        ("the client gap", gap, None, expected.client_gap_at_most),
    ):
        yield from _bounded(record, what, seconds, least, most)


def _bounded(record: Record, what: str, seconds: float | None, least: str | None, most: str | None) -> Iterator[str]:
    if seconds is None:
        return
    for text, broken, word in ((least, float.__lt__, "less"), (most, float.__gt__, "more")):
        if text is None:
            continue
        bound = Length.parse(text).under(record.timing)
        if broken(float(seconds), bound):
            yield f"{what} took {format_duration(round(seconds, 3))}, {word} than {text} ({format_duration(bound)})"


def _begun(record: Record, began: float, ended: float) -> Iterator[Term]:
    """The terms of the record's locks that began within a trial."""
    for term in record.ledger.terms.by_token.values():
        seen = record.seen(term.token)
        if term.lock in record.locks and seen is not None and began <= seen <= ended:
            yield term
