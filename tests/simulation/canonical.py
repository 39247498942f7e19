"""Real elections with their times taken out, so that a search can tell when two are the same.

An election's decisions depend on a few moments only: nothing is due, a renewal is due, the gate has closed, everything
is over. So every moment inside is set to 0, and a decision is asked for at each of `MOMENTS`. What is left is compared
by what the protocol is about: revisions, whose writes, which step. Where two elections differ in display alone they
are the same.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from lockd.candidacy import Candidacy, Ending, Unsettled
from lockd.config import ElectionConfig
from lockd.drafts import Hold
from lockd.evidence import Evidence
from lockd.observed import Observed
from lockd.ports import Acquire, Release, Renew, Seen
from lockd.record import HistoryEntry, LeaderRecord, TermValue
from lockd.signals import Stop

if TYPE_CHECKING:
    from collections.abc import Hashable

    from lockd.election import Election
    from lockd.ports import Transaction

CONFIG: Final = ElectionConfig(identity="any")
MOMENTS: Final = (0.0, CONFIG.retry_period, CONFIG.renew_deadline, 1e6)
"""Nothing is due; a renewal is; the gate has closed; whatever was waited for is over."""

THIS_TERM: Final = (HistoryEntry(identity="any"),)

KNOWN: Final = {
    Candidacy: "config nonce secret traceparent presence_address observed writes unsettled releasing hold draining"
    " successor work_until work_ended read_sent poll_at read_after evidence ending stopped lifeline claim",
    Observed: "lease record first_seen term_seen unfenced_until term history history_term recorded read_revision"
    " switchover candidates deposed refusals",
    Evidence: "identity transitions swaps renewals",
    Unsettled: "transaction first_sent sent next_copy copies",
    Hold: "token term lease_revision record history since sent led deposed",
    Ending: "reason since release",
    Stop: "reason led released asked",
}
"""What `same` below was written for: a field more may be one more thing that tells two elections apart."""


def unknown_fields() -> list[str]:
    """Fields of the machine that this module doesn't know: see whether `timeless` and `same` must."""
    return sorted(
        f"{kind.__name__}.{name}"
        for kind, known in KNOWN.items()
        for name in {f.name for f in fields(kind)} ^ set(known.split())
    )


def known(election: Election) -> Observed:
    """What its next steps depend on, of all that it has seen; every moment is 0."""
    hold, observed = election.hold, election.observed
    if hold is not None:  # it looks at nothing older than its own writes
        lease, term = Seen(hold.lease_revision, hold.record.encode()), Seen(hold.token, hold.term.encode())
        return Observed(lease=lease, record=hold.record, term=term)
    if election.unsettled is None and election.evidence is None:  # it looks just before it acquires
        return Observed()
    lease, term = observed.lease, observed.term
    recent = lease is not None and max(observed.read_revision, term.revision if term else 0) >= lease.revision
    return Observed(
        lease=lease,
        record=observed.record,
        term=term,
        history_term=observed.history_term if term and observed.history_term == term.mod_revision else None,
        read_revision=lease.revision if lease is not None and recent else 0,
    )


def timeless(election: Election) -> Election:
    """The same election with every moment at 0, and with what can't matter any more taken out."""
    hold, ending = election.hold, election.ending
    return replace(
        election,
        observed=known(election),
        unsettled=_at_zero(election.unsettled),
        releasing=_at_zero(election.releasing),
        hold=replace(hold, since=0.0, sent=0.0, history=THIS_TERM) if hold else None,
        draining=None if election.draining is None else 0.0,
        work_until=math.inf,
        read_sent=None,
        poll_at=math.inf,  # reads are made by the search, at any time
        read_after=math.inf,
        evidence=None if hold else election.evidence,  # a holder heeds none
        ending=replace(ending, since=0.0) if ending else None,
    )


def _at_zero(pending: Unsettled | None) -> Unsettled | None:
    if pending is None:
        return None
    return Unsettled(plain(pending.transaction), first_sent=0.0, sent=0.0, next_copy=1.0)


def _undated(record: LeaderRecord) -> LeaderRecord:
    return replace(record, leader_transitions=0, takeover="", acquire_time="", renew_time="")


def plain(transaction: Transaction) -> Transaction:
    """The same transaction without what is for display alone, and without the terms before."""
    record = _undated(transaction.record)
    if isinstance(transaction, Renew):
        return replace(transaction, record=record)
    if isinstance(transaction, Release) and (overtaken := transaction.overtaken) is not None:
        return replace(transaction, record=record, history=(), overtaken=_undated(overtaken))
    return replace(transaction, record=record, history=())


def same(election: Election) -> Hashable:
    """Two elections with the same of this write the same for ever, times aside."""
    hold, ending, stopped = election.hold, election.ending, election.stopped
    seen = known(election) if hold is None else None  # a holder knows what it wrote
    return (
        election.config.identity,
        election.writes,
        (lease_key(seen.lease), term_key(seen.term), seen.history_term, seen.read_revision) if seen else None,
        transaction_key(election.unsettled.transaction) if election.unsettled else None,
        transaction_key(election.releasing.transaction) if election.releasing else None,
        (hold.token, hold.term, hold.lease_revision, hold.record.renewal, hold.led) if hold else None,
        None if hold else election.evidence,
        election.draining is not None,
        election.work_ended,
        ending.release if ending else None,
        (stopped.reason, stopped.led, stopped.released, stopped.asked) if stopped else None,
    )


@cache
def lease_key(seen: Seen | None) -> Hashable:
    if seen is None or seen.value is None:
        return None if seen is None else (seen.revision,)
    record = LeaderRecord.parse(seen.value)
    return (seen.revision, (record.holder_identity, record.renewal) if record else seen.value)


@cache
def term_key(seen: Seen | None) -> Hashable:
    if seen is None or seen.value is None:
        return None if seen is None else (seen.revision,)
    return (seen.revision, TermValue.parse(seen.value))


def transaction_key(transaction: Transaction) -> tuple[Any, ...]:
    match transaction:
        case Acquire():
            compares = (transaction.lease_revision, transaction.term_revision)
        case Renew():
            compares = (transaction.lease_revision, transaction.token)
        case Release():
            overtaken = transaction.overtaken.renewal if transaction.overtaken is not None else ""
            compares = (transaction.lease_revision, transaction.token, overtaken)
    return (type(transaction).__name__, transaction.record.renewal, transaction.term, *compares)
