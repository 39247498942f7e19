"""A process ends with the code of its reason, and as soon as that reason allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.beliefs import beliefs
from chaos.checks.violation import Violation
from chaos.effect import Effect
from chaos.handoff import LOST
from chaos.record import CutOff

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.record import Account, Action, Exit, Record
    from chaos.spans import Span

KILLED = -9
SUPERVISED = ("replica-", "lockd-")
"""What the names of processes begin with whose ends are recorded: of others nobody knows whether they are there."""

LOST_CODE = 1
"""Of whoever lost the lease, or failed."""

NO_WRITES = frozenset({"quorum-loss", "no-space"})
"""Faults under which etcd takes no write at all."""

AWAY = frozenset({"kill", "terminate", "pause", "cut"})
"""Faults that take away the member at which they are aimed."""


def codes(record: Record) -> Iterator[Violation]:
    """0 for who was asked to end, -9 for who was killed, 1 for who lost its lease or failed; nothing else.

    Who is asked to end while etcd can't serve it may lose its lease before it has given it back.
    """
    switched = any(change.kind == "switchovers" for change in record.ledger.history.everything())
    for end in record.exits:
        asked = _asked(record, end)
        problem = ""
        if end.code == KILLED and any(_hit(record, action, end) for action in _of(record, Effect.KILL)):
            continue
        if end.code < 0:
            problem = f"was ended by signal {-end.code}, which no fault sent"
        elif asked is not None and end.code != 0 and not (_lost(record, end) or _excused(record, end, asked)):
            problem = f"ended with {end.code} though it was asked to end"
        elif asked is None and end.code == 0 and not switched:
            problem = "ended with 0 though nobody had asked it to"
        elif end.code not in (0, LOST_CODE):
            problem = f"ended with {end.code}, which is no code of a lost lease"
        if problem:
            asked_line = () if asked is None else (f"{record.moment(asked)}  it was asked to end",)
            yield Violation(
                check="exit-code",
                message=f"{end.name} {problem}",
                identity=end.identity,
                at=end.at,
                evidence=(*asked_line, f"{record.moment(end.at)}  {end.name} ended with {end.code}"),
            )


def bounds(record: Record) -> Iterator[Violation]:
    """Nobody outlives the reason of its end by more than the bound for it."""
    ends = {end.identity: end for end in record.exits}
    for identity, since, bound, why in _due(record):
        end = ends.get(identity)
        due = since + bound + record.slack + _stood_still(record, identity, since)
        if (end.at if end is not None else record.until) <= due:
            continue
        name = record.name(identity)
        yield Violation(
            check="exit-late",
            message=f"{name} {why}, and was still there {bound:.3f} s later",
            identity=identity,
            at=since,
            evidence=(
                f"{record.moment(since)}  {name} {why}",
                f"{record.moment(since + bound)}  it was to be gone",
                f"{record.moment(end.at)}  it ended with {end.code}"
                if end is not None
                else f"{record.moment(record.until)}  watching ended, and it was still there",
            ),
        )


def _due(record: Record) -> Iterator[tuple[str, float, float, str]]:
    """Who is to end: identity, since when it has a reason, seconds that it may take, and the reason."""
    timing = record.timing
    for account in record.accounts:
        for span in _losses(record, account):
            yield account.identity, span.start, timing.exit_seconds, "told that it lost its lease"
    bound = timing.drain_timeout + timing.exit_seconds
    ended = {end.identity for end in record.exits}
    for end in record.exits:
        if (asked := _asked(record, end)) is not None:
            yield end.identity, asked, bound, "was asked to end"
    for action in _of(record, Effect.STOP):
        if action.identity not in ended and action.target.startswith(SUPERVISED):
            yield action.identity, action.at, bound, "was asked to end"
    led = beliefs(record)
    bound = timing.renew_deadline + timing.exit_seconds
    for cut in (*record.cut_off, *_cut_off(record)):
        leads = any(each.identity == cut.identity and each.began <= cut.at < each.ended for each in led)
        if leads and (cut.until or record.until) - cut.at > bound:
            yield cut.identity, cut.at, bound, "led and was cut off from etcd"


def _asked(record: Record, end: Exit) -> float | None:
    """When a process was first asked to end."""
    told = () if end.asked_at is None else (end.asked_at,)
    did = [action.at for action in _of(record, Effect.STOP) if _hit(record, action, end)]
    return min((*told, *did), default=None)


def _of(record: Record, effect: Effect) -> Iterator[Action]:
    return (action for action in record.actions if action.effect is effect)


def _hit(record: Record, action: Action, end: Exit) -> bool:
    """Was it done to that process? What goes on for a while meets those that come after it under the same name too."""
    again = action.target == end.name and action.heals and action.at <= end.at <= action.over_at + record.slack
    return action.identity == end.identity or again


def _lost(record: Record, end: Exit) -> bool:
    """Did it tell that it lost its lease for another reason than being asked?"""
    account = record.account(end.identity)
    told = _losses(record, account) if account is not None else ()
    return any(not span.attributes.get("release", True) for span in told)


def _excused(record: Record, end: Exit, asked: float) -> bool:
    """Could etcd not serve it while it was to end? Then its lease may be lost before it can be given back."""
    return end.code == LOST_CODE and _unserved(record, end.identity, asked, end.at)


def _unserved(record: Record, identity: str, since: float, until: float) -> bool:
    """Was there a moment in which a process could reach no member, or in which etcd could take no write?"""
    cuts = (each for each in (*record.cut_off, *_cut_off(record)) if each.identity == identity)
    if any(each.at <= until and (each.until is None or each.until > since) for each in cuts):
        return True
    hurt = [each for each in _of(record, Effect.STORE) if each.at <= until and each.over_at > since]
    if any(each.fault in NO_WRITES for each in hurt):
        return True
    away = [each for each in hurt if each.fault in AWAY]
    moments = {max(since, each.at) for each in away}
    most = max((len({each.target for each in away if each.at <= at < each.over_at}) for at in moments), default=0)
    return most > (record.members - 1) // 2


def _losses(record: Record, account: Account) -> Iterator[Span]:
    """Where it told that a term of its own ended. That of another lock, held for a client, is no reason to exit."""
    return (span for span in account.told(LOST) if span.attributes.get("lock") in record.locks)


def _cut_off(record: Record) -> Iterator[CutOff]:
    """Whom a fault cut off from every member."""
    for action in _of(record, Effect.CUT):
        if action.cuts_off:
            yield CutOff(identity=action.identity, at=action.at, until=action.healed_at)


def _stood_still(record: Record, identity: str, since: float) -> float:
    """Seconds for which a process was stopped after it got a reason to end."""
    pauses = [each for each in record.actions if each.effect is Effect.PAUSE and each.identity == identity]
    return sum(max(0.0, min(each.over_at, record.until) - max(each.at, since)) for each in pauses)
