"""Nobody believes to lead beside another, but for what docs/guarantees.md states."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from chaos.beliefs import beliefs
from chaos.checks.violation import Violation
from chaos.effect import Effect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.beliefs import Belief
    from chaos.record import Record

READING = 1.0
"""Seconds after a stopped process goes on until it has read the clock: no wait of a leader is longer."""


def overlaps(record: Record) -> Iterator[Violation]:
    """Of two beliefs in one lock the older one ends before the newer one begins.

    Stated exceptions: a leader replaced by evidence, or beside a key written by hand, until it sees the record (by its
    gate, if it is cut off); one that stood still until it has read the clock.
    """
    for older, newer in combinations(sorted(beliefs(record), key=lambda belief: belief.token), 2):
        if older.lock != newer.lock or older.token == newer.token:
            continue
        beside = min(older.ended, newer.ended) - newer.began
        if beside <= older.error + newer.error:
            continue
        until, why = _allowed(record, older, newer)
        if older.ended <= until:
            continue
        yield Violation(
            check="belief-overlap",
            message=f"{record.name(older.identity)} and {record.name(newer.identity)} both believed to lead for "
            f"{beside:.3f} s",
            revision=newer.token,
            token=older.token,
            term_token=newer.token,
            key=f"leases/{older.lock}",
            identity=older.identity,
            at=newer.began,
            evidence=(
                f"{record.moment(older.began)}  {record.name(older.identity)} told that its term {older.token} began",
                f"{record.moment(newer.began)}  {record.name(newer.identity)} told that its term {newer.token} began",
                f"{record.moment(older.ended)}  {record.name(older.identity)} "
                + ("told that it stopped" if older.told else "had told of no end"),
                f"allowed: {why}; the clocks are known to {(older.error + newer.error) * 1e3:.1f} ms",
            ),
        )


def _allowed(record: Record, older: Belief, newer: Belief) -> tuple[float, str]:
    """Until when the older one may go on believing, and by which statement."""
    until, why = newer.began, f"none after a takeover by {newer.takeover or 'unknown'}"
    by_hand = any(each.effect is Effect.KEYS and older.began <= each.at <= older.ended for each in record.actions)
    if newer.takeover == "evidence" or by_hand:
        cut = any(
            each.effect in (Effect.CUT, Effect.STORE) and each.at <= older.ended and each.over_at >= newer.began
            for each in record.actions
        )
        until = newer.began + record.slack
        why = f"{record.slack:g} s to see the record"
        if cut and older.gate > until:
            until, why = older.gate + older.error, "until its gate, since messages were held back"
    name = record.name(older.identity)
    for pause in record.actions:
        mine = pause.hit(older.identity, name, since=older.began, until=older.ended)
        if pause.effect is Effect.PAUSE and mine and pause.at <= newer.began:
            resumed = pause.over_at + READING + record.slack
            if pause.over_at >= newer.began and resumed > until:
                until, why = resumed, "until it had read the clock after it stood still"
    return until, why
