"""Replies and revisions agree with real time: etcd's order is the witness.

The order in which etcd committed is known, so nothing has to be searched for: whatever ended before another thing began
must come first in it. An outcome that nobody told is looked up in history by the mark that its write carried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.checks.violation import Violation
from chaos.handoff import ANCHOR, BIND, RENEW
from chaos.marks import marks
from chaos.record import Operation
from lockd.record import LeaderRecord, TermValue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.history import Change
    from chaos.record import Record
    from chaos.spans import Span
    from chaos.terms import Term


def operations(record: Record) -> tuple[Operation, ...]:
    """What clients did and what replicas told of theirs, by the moment of sending."""
    told = (
        Operation(
            client=account.name or account.identity,
            what=span.name,
            sent=span.start,
            replied=span.end,
            outcome="applied",
            revision=int(span.attributes["revision"]),
            error=account.error,
        )
        for account in record.accounts
        for span in account.spans
        if _applied(span)
    )
    return tuple(sorted((*record.operations, *told), key=lambda operation: operation.sent))


def order(record: Record) -> Iterator[Violation]:
    """What was sent after a reply has no smaller revision than that reply, and a write has a larger one."""
    replies = sorted(
        (each for each in operations(record) if each.replied is not None and each.revision is not None),
        key=lambda each: (each.replied or 0.0) + each.error,
    )
    newest: Operation | None = None
    position = 0
    for later in sorted(operations(record), key=lambda each: each.sent - each.error):
        while position < len(replies) and (replies[position].replied or 0.0) + replies[position].error < (
            later.sent - later.error
        ):
            if newest is None or (replies[position].revision or 0) > (newest.revision or 0):
                newest = replies[position]
            position += 1
        if newest is None or newest.revision is None or later.revision is None:
            continue
        wrote = later.outcome == "applied" and bool(later.mark)
        if later.revision < newest.revision or (wrote and later.revision == newest.revision):
            yield Violation(
                check="time-order",
                message=f"{later.client}: {later.what} took effect at revision {later.revision}, though it was sent "
                f"after a reply of revision {newest.revision}",
                revision=later.revision,
                at=later.sent,
                evidence=(
                    f"{record.moment(newest.replied)}  {newest.client}: {newest.what}: replied, {newest.revision}",
                    f"{record.moment(later.sent)}  {later.client}: {later.what}: sent, then replied, {later.revision}",
                ),
            )


def causes(record: Record) -> Iterator[Violation]:
    """The watch brings nothing before it was sent."""
    known = marks(record.ledger)
    for each in operations(record):
        writes = known.get(each.mark, ()) if each.mark else ()
        revision = each.revision if each.outcome == "applied" and each.revision in record.stamps else None
        if each.outcome == "unknown" and writes:
            revision = writes[0].revision
        seen = record.seen(revision)
        if seen is not None and seen < each.sent - each.error and (each.mark or each.what == RENEW):
            yield Violation(
                check="before-its-cause",
                message=f"the watch brought revision {revision} before {each.client} sent {each.what}",
                revision=revision or 0,
                at=seen,
                evidence=(
                    f"{record.moment(seen)}  the watch brought revision {revision}",
                    f"{record.moment(each.sent)}  {each.client}: {each.what}: sent",
                ),
            )


def outcomes(record: Record) -> Iterator[Violation]:
    """What a client was told is what history holds, and no write is in it twice."""
    if record.ledger.history.incomplete:
        return
    known = marks(record.ledger)
    for each in record.operations:
        writes = known.get(each.mark, ()) if each.mark else ()
        problem = ""
        if each.mark and each.outcome == "applied" and each.revision not in {write.revision for write in writes}:
            problem = f"was told applied at revision {each.revision}, which holds nothing of it"
        elif each.outcome == "refused" and writes:
            problem = f"was told refused, and took effect at revision {writes[0].revision}"
        elif len({write.created for write in writes}) > 1:
            problem = "took effect twice, at revisions " + " and ".join(str(write.created) for write in writes[:2])
        if problem:
            yield Violation(
                check="untrue-outcome",
                message=f"{each.client}: {each.what} {problem}",
                revision=each.revision or (writes[0].revision if writes else 0),
                at=each.sent,
            )
    yield from _untold(record)


def _untold(record: Record) -> Iterator[Violation]:
    """A term that its holder never told of: it took its acquire for failed.

    It shows in that the holder acquired again while the term stood, or lived on beside it for a renew deadline. A term
    that somebody else ended before that, by another acquire or by hand, its holder need never have heard of.
    """
    for term in record.ledger.terms.by_token.values():
        account, began = record.account(term.identity), record.seen(term.token)
        if account is None or began is None or not account.spans:
            continue
        told = {
            span.attributes.get("token") for span in account.spans if span.name in (ANCHOR, "leader_election.resumed")
        }
        if term.token in told:
            continue
        end = _end(record, term)
        last = max(span.end for span in account.spans)
        stood = last if end is None else min(last, record.seen(end.revision) or last)
        again = end is not None and _names(end) == term.identity
        if again or stood > began + record.timing.renew_deadline + record.slack:
            yield Violation(
                check="untold-term",
                message=f"{record.name(term.identity)} got term {term.token} and never told of it",
                revision=term.token,
                token=term.token,
                key=f"terms/{term.lock}",
                identity=term.identity,
                at=began,
                evidence=(
                    f"{record.moment(began)}  the watch brought revision {term.token}, at which its term began",
                    f"{record.moment(record.seen(end.revision))}  it began term {end.revision} in its place"
                    if again and end is not None
                    else f"{record.moment(last)}  the last word of {record.name(term.identity)}",
                ),
            )


def _end(record: Record, term: Term) -> Change | None:
    """What ended a term: the first change of its lock's keys that is no renewal of its holder; None: nothing did."""
    for change in record.ledger.history.changes:
        if change.revision <= term.token or change.name != term.lock or change.kind not in ("leases", "terms"):
            continue
        if change.kind == "terms" or _names(change) != term.identity or change.revision == term.until_revision:
            return change
    return None


def _names(change: Change) -> str:
    """The holder that a lease or a term key names; "" for nobody, or nobody that can be told."""
    if change.value is None:
        return ""
    told = TermValue.parse(change.value) if change.kind == "terms" else LeaderRecord.parse(change.value)
    return told.holder_identity if told is not None else ""


def _applied(span: Span) -> bool:
    """Does the span tell of a transaction that took effect, and at which revision?"""
    outcome = {RENEW: "renewed", BIND: "applied"}.get(span.name)
    return outcome is not None and span.attributes.get("outcome") == outcome and "revision" in span.attributes
