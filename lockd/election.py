"""The election as a pure, frozen state machine: it decides, `lockd.elector` acts.

`observe` takes what was seen and when; `decide` takes the time and returns the next value and what to do. Nothing here
reads a clock, blocks or draws: every moment is an argument, in seconds on one clock that never goes back.

The rules that are not obvious, each the answer to an interleaving that breaks a simpler lock:

- A transaction without an applied reply is *unsettled*: its identical copy is sent again, nothing else is begun. Only
  an applied reply to some copy, or a newer event on the key, settles it. An error of one copy says nothing about the
  others.
- The gate of a term is the moment before the *first* copy of its last settled renewal (or its acquire) was sent, plus
  the renew deadline. A resend never moves it.
- A leader ends at the first sight of anything newer in the lock's keys that it did not write itself.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockd import drafts
from lockd.candidacy import HASTE, Candidacy, Unsettled
from lockd.config import JITTER_FACTOR
from lockd.drafts import Stamp
from lockd.observed import Switchover
from lockd.ports import Acquire, Applied, Failed, KeyEvent, Release, Seen, View, Which
from lockd.record import LeaderRecord
from lockd.signals import (
    Abandoned,
    KeepAlive,
    PartFailed,
    PeerGone,
    Read,
    ReadFailed,
    Refused,
    Reply,
    StopReason,
    StopRequested,
    Wait,
    WorkEnded,
)

if TYPE_CHECKING:
    from lockd.candidacy import Ending
    from lockd.drafts import Hold
    from lockd.ports import Renew, Transaction
    from lockd.signals import Action, Input


@dataclass(frozen=True, slots=True, kw_only=True)
class Election(Candidacy):
    """One candidacy, by the rules: what was seen goes in, what to do comes out."""

    # --- observing ---

    def observe(self, seen: Input, now: float) -> Election:
        """This and what was seen at `now`."""
        if self.stopped is not None:
            return self
        if -math.inf < self.gate <= now:  # the work has seen it closed: no late answer opens it again
            return self.end(self.gate_reason, now).observe(seen, now)
        match seen:
            case KeyEvent(which=Which.LEASE):
                return self._see_lease(seen.seen, now).await_rest(now)
            case KeyEvent(which=Which.TERM):
                return self._see_term(seen.seen, now).await_rest(now)
            case KeyEvent(which=Which.HISTORY):
                return replace(self, observed=self.observed.with_recorded(seen.seen))
            case KeyEvent(which=Which.SWITCHOVER):
                return replace(self, observed=replace(self.observed, switchover=Switchover.parse(seen.seen.value)))
            case KeyEvent():
                identity = seen.key.rpartition("/")[2]
                return replace(self, observed=self.observed.with_candidate(identity, seen.seen.value))
            case View():
                return replace(self._see_view(seen, now), read_sent=None, poll_at=now + self._poll_gap(now))
            case ReadFailed():
                later = now + HASTE * self.config.attempt
                return replace(self, read_sent=None, poll_at=now + self._poll_gap(now), read_after=later)
            case Reply(transaction=transaction, result=Failed()):
                return self.copy_failed(transaction, now)
            case Reply(transaction=transaction, result=Applied() as applied):
                return self._see_reply(transaction, applied, now)
            case KeepAlive(number=number):
                return self.hear(number, now)
            case Abandoned():
                return self.abandon(now)
            case StopRequested():
                return self.ask(StopReason.ASKED, now)
            case WorkEnded(raised=raised):
                return replace(self, work_ended=True).end_work(now, raised=raised)
            case PeerGone(identity=identity):
                return self.accuse(identity, now)
            case Refused(token=token):
                mine = self.hold is not None and self.hold.token == token
                # A release on its way may be what ended the term: its own answer tells.
                return self.end(StopReason.FENCED, now) if mine and self.releasing is None else self
            case PartFailed():
                return self.end(StopReason.PART_FAILED, now)
            case _:  # LostHistory
                return self.end(StopReason.HISTORY_LOST, now)

    def progress(self, until: float) -> Election:
        """The work lives, and will make progress again before `until`."""
        return replace(self, work_until=until)

    def _see_view(self, view: View, now: float) -> Election:
        fresh = self._see_lease(view.lease, now)._see_term(view.term, now)
        return replace(fresh, observed=fresh.observed.with_history(view))

    def _see_lease(self, seen: Seen, now: float) -> Election:
        observed = self.observed.with_lease(seen, now)
        if observed is None:
            return self
        evidence, record = self.evidence, observed.record
        fresh = replace(self, observed=observed, evidence=evidence.after(record) if evidence and record else evidence)
        renewal = observed.record.renewal if observed.record is not None else ""
        if renewal and self.unsettled is not None and renewal == self.unsettled.transaction.record.renewal:
            return fresh.settle(seen.revision, now)
        if self.hold is None:
            return fresh.outdate(Which.LEASE, seen)
        if seen.revision <= self.hold.lease_revision:
            return fresh
        if self.is_own_release(observed.record):
            return fresh.gone(released=True)
        if (followed := fresh.follow(seen)) is not None:
            return followed
        return fresh.end(StopReason.DELETED if seen.value is None else StopReason.OVERWRITTEN, now)

    def _see_term(self, seen: Seen, now: float) -> Election:
        observed = self.observed.with_term(seen)
        if observed is None:
            return self
        fresh = replace(self, observed=observed)
        if self.hold is None:
            pending = self.unsettled.transaction if self.unsettled is not None else None
            if isinstance(pending, Acquire) and observed.term_value == pending.term:
                return fresh.settle(seen.revision, now)
            return fresh.outdate(Which.TERM, seen)
        if seen.revision <= self.hold.token:
            return fresh
        releasing = self.releasing.transaction if self.releasing is not None else None
        if isinstance(releasing, Release) and observed.term_value == releasing.released:
            return fresh.gone(released=True)
        return fresh.end(StopReason.DELETED if seen.value is None else StopReason.TERM_ENDED, now)

    # --- replies ---

    def _see_reply(self, transaction: Transaction, applied: Applied, now: float) -> Election:
        if isinstance(transaction, Release):
            if applied.view is None:
                return self.gone(released=True)
            return self._see_release_refused(transaction, applied.view, now)
        if self.unsettled is None or self.unsettled.transaction != transaction:
            return self if applied.view is None else self._see_view(applied.view, now)
        if applied.view is not None:
            return self._see_refused(transaction, applied.view, now)
        lease = Seen(applied.revision, transaction.record.encode())
        observed = self.observed.with_lease(lease, now) or self.observed
        if isinstance(transaction, Acquire):
            observed = observed.with_term(Seen(applied.revision, transaction.term.encode())) or observed
        return replace(self, observed=observed).settle(applied.revision, now)

    def _see_refused(self, transaction: Acquire | Renew, view: View, now: float) -> Election:
        """A copy was refused. Whether an earlier one was committed shows in what the keys hold now.

        The term must be mine too: an acquire whose term key is gone or another's is no term, and its revision no token.
        """
        record = LeaderRecord.parse(view.lease.value) if view.lease.value is not None else None
        committed = record is not None and record.renewal == transaction.record.renewal
        begun_at = view.lease.revision if isinstance(transaction, Acquire) else transaction.token
        if committed and view.term == Seen(begun_at, transaction.term.encode()):
            settled = self.settle(view.lease.revision, now)
            return settled._see_view(view, now)
        foreign = replace(self, unsettled=None)
        if self.hold is None:
            return foreign._see_view(view, now)
        term_is_mine = view.term == Seen(self.hold.token, self.hold.term.encode())
        if self.claim is not None and not self.hold.led and term_is_mine:
            return foreign._see_view(view, now)
        if view.lease.value is None or view.term.value is None:
            reason = StopReason.DELETED
        else:
            reason = StopReason.OVERWRITTEN if term_is_mine else StopReason.TERM_ENDED
        return foreign.end(reason, now)._see_view(view, now)

    def _see_release_refused(self, refused: Release, view: View, now: float) -> Election:
        """Another copy came first, or the lock is another's; an own renewal that came first is no hindrance."""
        if self.ending is None or self.hold is None:
            return self._see_view(view, now)
        record = LeaderRecord.parse(view.lease.value) if view.lease.value is not None else None
        return self.gone(released=self.is_own_release(record) or view.term.value == refused.released.encode())

    # --- ending ---

    # --- deciding ---

    def decide(self, now: float, wall: float = 0.0) -> tuple[Election, Action]:
        """The next value, and what to do at `now`.

        A transaction is to be sent at once: `now` becomes the moment before its first copy was sent.

        Args:
            wall: Seconds since 1970, for the record's display times.
        """
        if self.stopped is not None:
            return self, self.stopped
        if now >= self.silent_at:
            return self.end(StopReason.SILENT, now).decide(now, wall)
        if self.ending is not None:
            return self._finish(self.ending, now, wall)
        after, action = self._keep(self.hold, now, wall) if self.hold is not None else self._stand_by(now, wall)
        return after, Wait(min(action.seconds, after.silent_at - now)) if isinstance(action, Wait) else action

    def _finish(self, ending: Ending, now: float, wall: float) -> tuple[Election, Action]:
        if now >= self.release_by or not ending.release:
            return self.gone(released=False).decide(now, wall)
        attempt = self.config.release_attempt
        if self.hold is None:  # an unsettled acquire may yet win: a dead process must not hold the lock
            if self.unsettled is None:
                return self.gone(released=False).decide(now, wall)
            return self._send_again(self.unsettled, attempt, now, self.release_by)
        acted = self.hold.led or self.claim is not None
        if not self.config.fenced and acted and not self.work_ended:
            return self, Wait(self.release_by - now)  # effects that etcd can't refuse must have ended first
        if self.releasing is not None:
            return self._send_again(self.releasing, attempt, now, self.release_by)
        overtaken = self.unsettled.transaction.record if self.unsettled is not None else None
        draft = drafts.release(self.hold, self._stamp(wall), successor=self.successor, overtaken=overtaken)
        return self._send(draft, attempt, now)

    def _keep(self, hold: Hold, now: float, wall: float) -> tuple[Election, Action]:
        gate = hold.sent + self.config.renew_deadline if hold.led else math.inf
        if now >= gate:
            return self.end(self.gate_reason, now).decide(now, wall)
        if self.switchover_is_mine and self.draining is None:
            successor = self.observed.switchover.candidate if self.observed.switchover else ""
            return self.ask(StopReason.SWITCHOVER, now, successor).decide(now, wall)
        if self.draining is not None:
            until = self.draining + self.config.drain_timeout
            if now >= until:
                return self.end(self.asked_reason, now).decide(now, wall)
        else:
            until = self.work_until if hold.led and self.lifeline is None else math.inf
            if now >= until:
                return self.end(StopReason.WORK_HUNG, now).decide(now, wall)
        until = min(until, gate)
        if self.unsettled is not None:
            return self._send_again(self.unsettled, self.config.attempt, now, until)
        renew_at = hold.sent + self.config.retry_period
        if self.lifeline is not None:
            renew_at = self.lifeline.renew_at(hold.sent, self.config.retry_period)
        if now < renew_at:
            return self, Wait(min(renew_at, until) - now)
        revised = self.hold_off(now)
        return revised._send(drafts.renew(revised.hold or hold, self._stamp(wall)), self.config.attempt, now)

    def _stand_by(self, now: float, wall: float) -> tuple[Election, Action]:
        if self.unsettled is not None:
            return self._send_again(self.unsettled, self.config.attempt, now, math.inf)
        free_at, early = math.inf, False
        if self.claim is None:
            mine = self.wrote(self.observed.record)
            free_at = self.observed.free_at(self.config.identity, self.config.lease_duration, mine=mine)
            early = now < free_at and self.accuses
        elif self.observed.is_whole and self.observed.reaches(self.claim.token):
            return self.take_up(self.claim, now).decide(now, wall)
        if (early or now >= free_at) and self.observed.is_whole:
            draft = drafts.acquire(
                self.config,
                self.observed,
                self._stamp(wall),
                traceparent=self.traceparent,
                presence_address=self.presence_address,
                takeover="evidence" if early else self.observed.takeover(),
            )
            tried = replace(self, evidence=self.evidence.tried()) if early and self.evidence else self
            return tried._send(draft, self.config.attempt, now)
        read_at = self.poll_at if self.observed.is_whole else self.read_after
        if self.read_sent is not None:  # it stays open, but another member may answer sooner
            read_at = self.read_sent + self.config.attempt
        if now >= read_at:
            return replace(self, read_sent=now), Read()
        return self, Wait(min(read_at, free_at if self.observed.is_whole else math.inf) - now)

    def _send(self, transaction: Transaction, attempt: float, now: float) -> tuple[Election, Action]:
        fresh = Unsettled(transaction, first_sent=now, sent=now, next_copy=now + attempt)
        counted = replace(self, writes=self.writes + 1)
        if isinstance(transaction, Release):  # there is no time to find out whether its member serves at all
            return replace(counted, releasing=replace(fresh, next_copy=now + HASTE * attempt)), transaction
        return replace(counted, unsettled=fresh, lifeline=self.lifeline and self.lifeline.begin()), transaction

    def _send_again(self, pending: Unsettled, attempt: float, now: float, until: float) -> tuple[Election, Action]:
        if now < pending.next_copy:
            return self, Wait(min(pending.next_copy, until) - now)
        again = replace(pending, sent=now, next_copy=now + attempt, copies=pending.copies + 1)
        if isinstance(pending.transaction, Release):
            return replace(self, releasing=again), pending.transaction
        return replace(self, unsettled=again), pending.transaction

    def _stamp(self, wall: float) -> Stamp:
        return Stamp(f"{self.nonce}-{self.writes}", f"{self.secret}-{self.writes}", wall)

    def _poll_gap(self, now: float) -> float:
        """Seconds until the next fallback read: spread over [retry period, 2.2 retry periods], drawn from the nonce."""
        share = zlib.crc32(f"{self.nonce}{now}".encode()) / 2**32
        return self.config.retry_period * (1 + JITTER_FACTOR * share)
