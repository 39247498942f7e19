"""Who believed to lead, and when: out of what the processes told of themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from chaos.effect import Effect
from chaos.handoff import ANCHOR, LOST, RENEW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.record import Account, Record

RESUMED: Final = "leader_election.resumed"
STARTED: Final = ("started leading", "goes on leading")
"""What a log says when a term begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """One process's belief to lead. Moments are seconds on the tool's CLOCK_BOOTTIME.

    Attributes:
        lock: `<namespace>/<name>`.
        token: Of the term that it told.
        takeover: How it came to it, as it told.
        began: When it knew that the term was its own.
        ended: When it stopped; the end of the record if it never did.
        gate: The first send of its last renewal + renew deadline: nobody may believe beyond that.
        told: Did it tell that it stopped? Else it was ended, or is still there.
        error: Seconds by which these may be off.
    """

    identity: str
    lock: str
    token: int
    takeover: str
    began: float
    ended: float
    gate: float
    told: bool
    error: float


def beliefs(record: Record) -> tuple[Belief, ...]:
    """Every belief that the accounts tell, by its beginning."""
    found = (belief for account in record.accounts for belief in _of(record, account))
    return tuple(sorted(found, key=lambda belief: (belief.began, belief.token)))


def _of(record: Record, account: Account) -> Iterator[Belief]:
    seen: set[int] = set()
    for began, told in _beginnings(account):
        token = _number(told.get("token"))
        if token in seen:
            continue
        seen.add(token)
        lock = str(told.get("lock", ""))
        sends = [
            span.start
            for span in account.told(RENEW)
            if span.attributes.get("token") == token and span.attributes.get("outcome") == "renewed"
        ]
        gate = max((_acquired(account, began), *sends)) + record.timing.renew_deadline
        losses = (span.start for span in account.told(LOST) if span.attributes.get("lock") == lock)
        lost = next((moment for moment in losses if moment >= began), None)
        yield Belief(
            identity=account.identity,
            lock=lock,
            token=token,
            takeover=str(told.get("takeover", "")),
            began=began,
            ended=_ended(record, account, began, gate) if lost is None else lost,
            gate=gate,
            told=lost is not None,
            error=account.error,
        )


def _beginnings(account: Account) -> Iterator[tuple[float, dict[str, Any]]]:
    """The trace's word first; the log's where the trace lacks one."""
    for span in account.spans:
        if span.name in (ANCHOR, RESUMED):
            yield span.start, dict(span.attributes)
    for line in account.lines:
        if line.event in STARTED:
            yield line.at, dict(line.fields)


def _acquired(account: Account, began: float) -> float:
    """The first send of the acquire that began a term: its gate counts from there until the first renewal."""
    sends = [
        span.start
        for span in account.spans
        if span.name == "leader_election.acquire"
        and span.attributes.get("outcome") == "acquired"
        and span.start <= began
    ]
    return max(sends, default=began)


def _ended(record: Record, account: Account, began: float, gate: float) -> float:
    """The end of a belief of which its process told nothing: its kill, else its exit, by its gate at the latest."""
    gone = min((each.at for each in record.exits if each.identity == account.identity), default=record.until)
    kills = (
        each.at
        for each in record.actions
        if each.effect is Effect.KILL and each.hit(account.identity, account.name, since=began, until=gone)
    )
    killed = min(kills, default=None)
    if killed is not None:
        return killed
    return min(gone, gate) if gone < record.until else record.until


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | float | str) and str(value).isdigit() else 0
