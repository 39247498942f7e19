"""Once nothing is hurt any more, somebody leads within a lease."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.checks.violation import Violation
from chaos.effect import Effect
from lockd.record import LeaderRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.record import Action, Record

STARTING = 15.0
"""Seconds that a process may take to be started again and to stand by, on a busy machine."""


def leaderless(record: Record) -> Iterator[Violation]:
    """In each quiet time that is long enough, a holder acquires or renews within the bound that `patience` gives."""
    for lock in record.locks:
        signs = _signs(record, lock)
        for healed, over, last in _quiet(record):
            bound = patience(record, last) + (STARTING if _all_ended(record, healed) else 0.0)
            if over < healed + bound or any(healed < at <= healed + bound for at in signs):
                continue
            before = max((at for at in signs if at <= healed), default=None)
            after = min((at for at in signs if at > healed), default=None)
            yield Violation(
                check="no-leader",
                message=f"nobody led {lock} within {bound:.3f} s after the last fault was over",
                key=f"leases/{lock}",
                at=healed,
                evidence=(
                    f"{record.moment(before)}  the last acquire or renewal before"
                    if before is not None
                    else "nobody had led before",
                    f"{record.moment(healed)}  {last.fault} on {last.target} was over, and nothing else was hurt",
                    f"{record.moment(after)}  the next acquire or renewal"
                    if after is not None
                    else f"{record.moment(record.until)}  watching ended without an acquire or renewal",
                ),
            )


def patience(record: Record, last: Action) -> float:
    """Seconds after the end of the last fault: a lease and one poll; with requests held back almost two leases."""
    timing = record.timing
    bound = timing.lease_duration + timing.longest_poll + record.slack
    stuck = last.effect in (Effect.CUT, Effect.STORE, Effect.PAUSE)
    return bound + (timing.lease_duration - timing.retry_period if stuck else 0.0)


def _all_ended(record: Record, healed: float) -> bool:
    """Is nobody left who had stood by? Then whoever comes has to start, and has not seen the last renewal."""
    stood_by = {account.identity for account in record.accounts if account.lines and account.lines[0].at <= healed}
    ended = {end.identity for end in record.exits if end.at <= healed + record.slack}
    return bool(stood_by) and stood_by <= ended


def _quiet(record: Record) -> Iterator[tuple[float, float, Action]]:
    """Each time in which nothing was hurt: from, to, and the action that was over last."""
    actions = sorted(record.actions, key=lambda action: action.at)
    if not actions:
        return
    last = actions[0]
    for action in actions[1:]:
        if action.at > last.over_at:
            yield last.over_at, action.at, last
        last = max(last, action, key=lambda each: each.over_at)
    if last.over_at < record.until:
        yield last.over_at, record.until, last


def _signs(record: Record, lock: str) -> list[float]:
    """When a holder acquired or renewed, as the watch saw it."""
    moments: list[float] = []
    by_hand = record.by_hand
    for change in record.ledger.history.changes:
        if change.key != f"leases/{lock}" or change.value is None or change.revision in by_hand:
            continue
        told = LeaderRecord.parse(change.value)
        seen = record.seen(change.revision)
        if told is not None and told.holder_identity and seen is not None:
            moments.append(seen)
    return moments
