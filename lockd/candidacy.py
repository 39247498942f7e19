"""The state of one candidacy and the steps it can take; `lockd.election` says when it takes which."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from lockd import drafts
from lockd.drafts import Hold
from lockd.evidence import Evidence, doubled, eased
from lockd.fencing import Token
from lockd.observed import Observed
from lockd.ports import Acquire, Seen, Which
from lockd.signals import CLIENT_GONE, FAILED_WORK, FOR_STANDBYS, ORDERLY, STILL_MINE, Stop, StopReason

if TYPE_CHECKING:
    from lockd.config import ElectionConfig
    from lockd.lifeline import Claim, Lifeline
    from lockd.ports import Transaction
    from lockd.record import LeaderRecord

RELEASE_SHARE = 0.75
"""The part of the exit bound that a release may take; telemetry gets what is left."""

HASTE = 0.1
"""The part of an attempt after which a failed copy is followed by the next."""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A transaction on its way: `first_sent` is the moment before its first copy was sent, `sent` before its last."""

    transaction: Transaction
    first_sent: float
    sent: float
    next_copy: float
    copies: int = 1


@dataclass(frozen=True, slots=True)
class Ending:
    """The term, or the candidacy, is over; what is left is to give the lock back."""

    reason: StopReason
    since: float
    release: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidacy:
    """One candidacy: it stands by, leads at most one term, and ends.

    Attributes:
        nonce: Random, unique to this process: what its renewals begin with.
        secret: Random too: what its acquisitions begin with. Not to be told to others.
        traceparent: W3C trace context of the anchor of the term it may lead.
        unsettled: The acquire or renewal on its way.
        releasing: The release on its way; it may overtake an unsettled renewal.
        draining: Since when the end is asked for, while the work finishes.
        work_until: By when the work must have made progress.
        read_sent: When the last read was sent, while no read has been answered since.
        poll_at: When the next fallback read is due, in case the watch is silent.
        read_after: Before when what is missing is not asked for: a read just failed, or it is on its way.
        evidence: The last that counted against a holder.
        lifeline: The keep-alives of the client that this candidacy is for; None: this process is the candidate itself.
        claim: The term to take up again. No other is begun instead.
    """

    config: ElectionConfig
    nonce: str
    secret: str
    traceparent: str = ""
    presence_address: str = ""
    observed: Observed = field(default_factory=Observed)
    writes: int = 0
    unsettled: Unsettled | None = None
    releasing: Unsettled | None = None
    hold: Hold | None = None
    draining: float | None = None
    successor: str = ""
    work_until: float = math.inf
    work_ended: bool = False
    read_sent: float | None = None
    poll_at: float = -math.inf
    read_after: float = -math.inf
    evidence: Evidence | None = None
    ending: Ending | None = None
    stopped: Stop | None = None
    lifeline: Lifeline | None = None
    claim: Claim | None = None

    @property
    def gate(self) -> float:
        """Until when the term holds; -inf when there is none."""
        if self.hold is None or not self.hold.led or self.ending is not None:
            return -math.inf
        return self.hold.sent + self.config.renew_deadline

    @property
    def led(self) -> bool:
        return self.hold is not None and self.hold.led

    @property
    def silent_at(self) -> float:
        """When a client that doesn't lead is given up; one that leads is by its gate."""
        if self.lifeline is None or self.led or self.ending is not None:
            return math.inf
        return self.lifeline.heard_at + self.config.renew_deadline

    @property
    def gate_reason(self) -> StopReason:
        """Why the gate closed: for want of keep-alives, or of commits."""
        waits = self.lifeline is not None and not self.lifeline.due and self.unsettled is None
        return StopReason.SILENT if waits else StopReason.DEADLINE

    @property
    def copy(self) -> int:
        """Which copy the transaction is that `decide` just returned; 0 is the first."""
        current = self.releasing or self.unsettled
        return current.copies - 1 if current else 0

    def patience(self, now: float) -> float:
        """Seconds that a copy sent now may take; what comes later is of no use.

        A release is, though nobody waits for its answer any more: without it the lease has to run out.
        """
        if self.ending is not None:
            runs_out = self.hold.sent + self.config.lease_duration if self.hold is not None else -math.inf
            return max(0.01, runs_out - now, self.release_by - now)
        return self.gate - now if self.gate > now else self.config.renew_deadline

    @property
    def release_by(self) -> float:
        return (self.ending.since if self.ending else 0.0) + RELEASE_SHARE * self.config.exit_seconds

    @property
    def switchover_is_mine(self) -> bool:
        wish = self.observed.switchover
        return wish is not None and self.hold is not None and wish.token == self.hold.token

    @property
    def asked_reason(self) -> StopReason:
        return StopReason.SWITCHOVER if self.switchover_is_mine else StopReason.ASKED

    def wrote(self, record: LeaderRecord | None) -> bool:
        """Did this process write this record? A clone of it has its nonce too, but other writes."""
        head, _, number = record.renewal.rpartition("-") if record is not None else ("", "", "")
        return head == self.nonce and number.isdecimal() and len(number) < 20 and int(number) < self.writes

    def is_own_release(self, record: LeaderRecord | None) -> bool:
        """Is this record the empty one that this process wrote?"""
        return record is not None and not record.holder_identity and self.wrote(record)

    @property
    def accuses(self) -> bool:
        """Is there evidence that counts against the holder of the newest record?"""
        record = self.observed.record
        return record is not None and self.evidence is not None and self.evidence.counts(record)

    @property
    def bids_farewell(self) -> bool:
        """Must the end of this process not count as evidence? The lock is free, or its lease is to run out.

        A release that was withheld on purpose says so; one that was given up doesn't: the sooner the better.
        """
        if self.stopped is None or self.ending is None:
            return False
        return self.stopped.released or (self.ending.reason in STILL_MINE and not self.ending.release)

    def accuse(self, identity: str, now: float) -> Self:
        """Take evidence into account: against the holder of the newest record, out of its holdoff, once in its term."""
        record = self.observed.record
        if self.hold is not None or record is None or record.holder_identity != identity or not record.fenced:
            return self
        if now - self.observed.term_seen < record.presence_holdoff:
            return self
        if self.evidence is not None and self.evidence.names(record):
            return self
        return replace(self, evidence=Evidence(identity, record.leader_transitions))

    def hold_off(self, now: float) -> Self:
        """Revise the holdoff that the next renewal tells: false evidence doubles it, a term that lasts halves it."""
        if self.hold is None:
            return self
        old, duration = self.hold.record.presence_holdoff, self.config.lease_duration
        marked = self.hold.deposed in {token for _, token in self.observed.deposed}
        new = (
            doubled(old, lease_duration=duration)
            if marked
            else eased(old, age=now - self.hold.since, lease_duration=duration)
        )
        if new == old and not marked:
            return self
        hold = replace(self.hold, record=replace(self.hold.record, presence_holdoff=new))
        return replace(self, hold=replace(hold, deposed=0) if marked else hold)

    def await_rest(self, now: float) -> Self:
        """A release is told one key after the other: the rest is on its way, and to ask would delay the takeover."""
        if self.hold is not None or self.observed.is_whole or not self.observed.released_in_part:
            return self
        return replace(self, read_after=max(self.read_after, now + HASTE * self.config.attempt))

    def outdate(self, which: Which, seen: Seen) -> Self:
        """A key is not as an unsettled acquire wants it: the acquire does not stand, and never will."""
        pending = self.unsettled.transaction if self.unsettled is not None else None
        if not isinstance(pending, Acquire):
            return self
        wanted = pending.lease_revision if which is Which.LEASE else pending.term_revision
        return self if seen.mod_revision == wanted else replace(self, unsettled=None)

    def copy_failed(self, transaction: Transaction, now: float) -> Self:
        """One copy brought nothing, which settles nothing; the next one needs not wait for the whole attempt."""

        def hurry(pending: Unsettled | None, attempt: float) -> Unsettled | None:
            if pending is None or pending.transaction != transaction:
                return pending
            return replace(pending, next_copy=min(pending.next_copy, max(now, pending.sent + HASTE * attempt)))

        return replace(
            self,
            unsettled=hurry(self.unsettled, self.config.attempt),
            releasing=hurry(self.releasing, self.config.release_attempt),
        )

    def settle(self, revision: int, now: float) -> Self:
        """The unsettled transaction was committed, at `revision`."""
        if self.unsettled is None:
            return self
        transaction, sent = self.unsettled.transaction, self.unsettled.first_sent
        if isinstance(transaction, Acquire):
            hold = Hold(
                token=Token(revision),
                term=transaction.term,
                lease_revision=revision,
                record=transaction.record,
                history=transaction.history,
                since=now,
                sent=sent,
                deposed=transaction.term_revision if transaction.record.takeover == "evidence" else 0,
            )
        elif self.hold is not None:
            newest = max(revision, self.hold.lease_revision)
            hold = replace(self.hold, record=transaction.record, sent=sent, lease_revision=newest)
        else:
            return replace(self, unsettled=None)
        settled = replace(self, unsettled=None, hold=hold, lifeline=self.lifeline and self.lifeline.commit())
        if hold.led or self.ending is not None or now >= sent + self.config.renew_deadline:
            return settled
        return replace(settled, hold=replace(hold, led=True), work_until=now + self.config.work_timeout)

    def ask(self, reason: StopReason, now: float, successor: str = "") -> Self:
        if self.ending is not None or self.draining is not None:
            return self
        fresh = replace(self, successor=successor)
        return replace(fresh, draining=now) if self.gate > now else fresh.end(reason, now)

    def hear(self, number: int, now: float) -> Self:
        """The client lives."""
        return replace(self, lifeline=self.lifeline.hear(number, now)) if self.lifeline is not None else self

    def abandon(self, now: float) -> Self:
        """The client's stream broke. A release that is already on its way goes on."""
        return self if self.ending is not None else self.end(StopReason.ABANDONED, now)

    def take_up(self, claim: Claim, now: float) -> Self:
        """Hold the term that is claimed; it is led once a renewal is committed. End if it is over."""
        hold = drafts.take_up(claim, self.observed, now)
        return self.end(StopReason.TERM_ENDED, now) if hold is None else replace(self, hold=hold)

    def follow(self, seen: Seen) -> Self | None:
        """The lease as another process renewed it before the term was taken up here; None: that is not what it is.

        A renewal on its way does not stand then, and never will: it is made anew on this one.
        """
        record, hold = self.observed.record, self.hold
        if self.claim is None or hold is None or hold.led or record is None:
            return None
        if record.holder_identity != hold.term.holder_identity:
            return None
        return replace(self, hold=replace(hold, lease_revision=seen.revision, record=record), unsettled=None)

    def end_work(self, now: float, *, raised: bool) -> Self:
        if self.draining is not None:
            return self.end(self.asked_reason, now)
        return self.end(StopReason.WORK_RAISED if raised else StopReason.WORK_RETURNED, now)

    def end(self, reason: StopReason, now: float) -> Self:
        """The first reason stays; a later one that takes the record away still forbids the release."""
        if self.ending is not None:
            keep = self.ending.release and reason in STILL_MINE
            return replace(self, ending=replace(self.ending, release=keep))
        if not self.led and self.claim is None and reason not in FOR_STANDBYS:
            return replace(self, hold=None, unsettled=None) if self.hold is not None else self
        return replace(self, ending=Ending(reason, now, self._may_release(reason, now)))

    def _may_release(self, reason: StopReason, now: float) -> bool:
        """Work that fails at once would fail at the next holder too: such a term runs out, or it spins through all."""
        if reason in CLIENT_GONE:  # what it was never told of, it doesn't act on
            return not self.led and self.claim is None
        young = self.hold is not None and now - self.hold.since < self.config.lease_duration
        return reason in STILL_MINE and not (reason in FAILED_WORK and young)

    def gone(self, *, released: bool) -> Self:
        if self.ending is None:
            return self
        asked = self.ending.reason in ORDERLY or self.draining is not None
        stopped = Stop(self.ending.reason, self.led, released, asked)
        return replace(self, stopped=stopped, hold=None, unsettled=None, releasing=None)
