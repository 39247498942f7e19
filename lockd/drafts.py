"""The transactions of a candidate, as values: what each puts, made once and then sent unchanged."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockd.ports import Acquire, Release, Renew, Seen
from lockd.record import HistoryEntry, LeaderRecord, TermValue, display_time

if TYPE_CHECKING:
    from lockd.config import ElectionConfig
    from lockd.fencing import Token
    from lockd.lifeline import Claim
    from lockd.observed import Observed


@dataclass(frozen=True, slots=True)
class Hold:
    """The lock is this candidate's, by etcd.

    Attributes:
        lease_revision: The lease key's mod revision as this holder last wrote it.
        since: When the acquire was settled, in seconds on the candidate's clock.
        sent: The first send of the last settled acquire or renewal: the gate and the renew period count from here.
        led: The term has begun; it does once a settled write's gate is ahead.
        deposed: The token of the term that this one ended by evidence; 0 for none, or when its mark was answered.
    """

    token: Token
    term: TermValue
    lease_revision: int
    record: LeaderRecord
    history: tuple[HistoryEntry, ...]
    since: float
    sent: float
    led: bool = False
    deposed: int = 0


@dataclass(frozen=True, slots=True)
class Stamp:
    """What makes a write one's own, and when it was made.

    Attributes:
        renewal: Unique to the write; others may see it.
        secret: Unique to the write; for the term key alone.
        wall: Seconds since 1970, for display.
    """

    renewal: str
    secret: str
    wall: float


def acquire(
    config: ElectionConfig, observed: Observed, stamp: Stamp, *, traceparent: str, presence_address: str, takeover: str
) -> Acquire:
    """A term that replaces what was observed. Of the old record only the transitions and the holdoff live on."""
    lease = observed.lease or Seen(0, None)
    term = observed.term or Seen(0, None)
    old, time = observed.record, display_time(stamp.wall)
    record = LeaderRecord(
        holder_identity=config.identity,
        lease_duration=config.lease_duration,
        acquire_time=time,
        renew_time=time,
        leader_transitions=0 if lease.value is None else (old.leader_transitions if old else 0) + 1,
        renewal=stamp.renewal,
        fenced=config.fenced,
        takeover=takeover,
        presence_address=presence_address,
        presence_holdoff=old.presence_holdoff if old else 0.0,
        traceparent=traceparent,
    )
    ended = tuple(
        replace(entry, until=time, reason=takeover) if not entry.until else entry for entry in observed.history
    )
    begun = HistoryEntry(identity=config.identity, since=time, takeover=takeover)
    value = TermValue(config.identity, stamp.secret)
    return Acquire(record, value, (*ended, begun), lease.mod_revision, term.mod_revision)


def take_up(claim: Claim, observed: Observed, now: float) -> Hold | None:
    """The term that was begun elsewhere, as far as etcd has it: it is led once a renewal of one's own is committed.

    Returns:
        None when it is over.
    """
    record, term = observed.record, observed.term
    stands = term is not None and term.revision == claim.token and term.value == claim.term.encode()
    if not stands or observed.lease is None or record is None or record.holder_identity != claim.term.holder_identity:
        return None
    return Hold(
        token=claim.token,
        term=claim.term,
        lease_revision=observed.lease.revision,
        record=record,
        history=observed.history or (HistoryEntry(identity=record.holder_identity),),
        since=now,
        sent=-math.inf,
    )


def renew(hold: Hold, stamp: Stamp) -> Renew:
    """The same record with a new renewal; fields that this version doesn't know stay."""
    record = replace(hold.record, renew_time=display_time(stamp.wall), renewal=stamp.renewal)
    return Renew(record, hold.term, hold.lease_revision, hold.token)


def release(hold: Hold, stamp: Stamp, *, successor: str, overtaken: LeaderRecord | None = None) -> Release:
    """An empty record that anyone may replace at once, or after a moment in which `successor` may.

    Args:
        overtaken: What an unsettled renewal puts.
    """
    time = display_time(stamp.wall)
    record = replace(
        hold.record,
        holder_identity="",
        lease_duration=1.0,
        renew_time=time,
        renewal=stamp.renewal,
        preferred_holder=successor,
        presence_address="",
    )
    mine = replace(hold.history[-1], token=int(hold.token), until=time, reason="released")
    released = TermValue("", stamp.secret)
    history = (*hold.history[:-1], mine)
    return Release(record, hold.term, released, history, hold.lease_revision, hold.token, overtaken)
