"""Hand-offs out of spans: who followed whom, and how long each phase of it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from component.tracing.waterfall import Row, Waterfall, note
from component.tracing.waterfall import lines as picture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from chaos.spans import Span

ANCHOR: Final = "leader_election.started_leading"
ACQUIRE: Final = "leader_election.acquire"
RENEW: Final = "leader_election.renew"
RELEASE: Final = "leader_election.release"
LOST: Final = "leader_election.lost"
DETECTION: Final = "leader_election.detection"
EVIDENCE: Final = "leader_election.evidence"
BARRIER: Final = "scheduler.cache_barrier"
BIND: Final = "scheduler.bind_batch"
FAULT: Final = "chaos.fault"
"""What a chaos tool did to a process; its attribute `target` is the identity."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a hand-off's timeline.

    Attributes:
        offset: Seconds after the hand-off began.
        seconds: How long it lasted.
        identity: Whose it is.
        what: The span's name.
        note: What its attributes tell, in a few words.
    """

    offset: float
    seconds: float
    identity: str
    what: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """From the end of one leader to the first bind of the next. Times are wall seconds, phases are seconds.

    Attributes:
        predecessor: Identity of the old leader.
        successor: Identity of the new one.
        token: The new one's fencing token, 0 when its anchor doesn't tell.
        cause: What began it: `fault` (a chaos tool told), `release`, `lost`, `evidence` (the kernel closed its
            connections) or `silence` (the last renewal was the last sign of life).
        began: When it began.
        detected: The send of the acquire that won.
        acquired: Its reply.
        warm: The caches had passed the new token; None: not seen.
        bound: The first bind of the new leader had been answered; None: not seen.
        steps: The spans of it, in order.
        predecessor_token: The old one's.
        by: How the new one came to it: `release`, `evidence`, `expiry`, or "" when its anchor doesn't tell.
    """

    predecessor: str
    successor: str
    token: int
    cause: str
    began: float
    detected: float
    acquired: float
    warm: float | None
    bound: float | None
    steps: tuple[Step, ...]
    predecessor_token: int = 0
    by: str = ""

    @property
    def phases(self) -> dict[str, float | None]:
        """Detection, election, warm-up, first bind and their total, seconds; None: the span that ends it is missing."""
        return {
            "detection": self.detected - self.began,
            "election": self.acquired - self.detected,
            "warm_up": None if self.warm is None else self.warm - self.acquired,
            "first_bind": None if self.warm is None or self.bound is None else self.bound - self.warm,
            "total": None if self.bound is None else self.bound - self.began,
        }

    def document(self) -> dict[str, Any]:
        """For `-o json`: milliseconds, and the beginning in seconds since 1970."""
        return {
            "predecessor": self.predecessor,
            "successor": self.successor,
            "predecessor_token": self.predecessor_token,
            "token": self.token,
            "by": self.by,
            "cause": self.cause,
            "began": self.began,
            "phases_ms": {name: _milliseconds(seconds) for name, seconds in self.phases.items()},
            "steps": [
                {
                    "offset_ms": _milliseconds(step.offset),
                    "duration_ms": _milliseconds(step.seconds),
                    "identity": step.identity,
                    "span": step.what,
                    "note": step.note,
                }
                for step in self.steps
            ],
        }


def handoffs(spans: Sequence[Span]) -> tuple[Handoff, ...]:
    """Each hand-off that the spans show, in time order: an anchor that links to its predecessor's."""
    ordered = sorted(spans, key=lambda span: (span.start, span.end))
    anchors = {span.span_id: span for span in ordered if span.name == ANCHOR}
    return tuple(
        _handoff(ordered, anchors[link], anchor)
        for anchor in anchors.values()
        for link in anchor.links[:1]
        if link in anchors
    )


def _handoff(spans: Sequence[Span], old: Span, new: Span) -> Handoff:
    def of(instance: str, name: str, holds: Callable[[Span], bool] = lambda _: True) -> list[Span]:
        return [span for span in spans if span.instance == instance and span.name == name and holds(span)]

    during = [span for span in spans if old.start <= span.start <= new.end]
    faults = [span for span in during if span.name == FAULT and span.attributes.get("target") == old.instance]
    mine = {name: [s for s in during if s.instance == old.instance and s.name == name] for name in (RELEASE, LOST)}
    evidence = [
        span
        for span in during
        if span.name == EVIDENCE and span.attributes.get("holder") == old.instance and _gone(span)
    ]
    renewals = of(old.instance, RENEW, lambda span: old.start <= span.start <= new.end)
    if faults:
        cause, began = "fault", faults[-1].start
    elif mine[RELEASE]:
        cause, began = "release", mine[RELEASE][0].start
    elif mine[LOST]:
        cause, began = "lost", mine[LOST][0].start
    elif evidence:
        cause, began = "evidence", evidence[0].start
    else:
        cause, began = "silence", (renewals[-1] if renewals else old).end

    def linked(span: Span) -> bool:
        return new.span_id in span.links or (not span.links and span.start >= new.start)

    acquires = of(new.instance, ACQUIRE, lambda span: began <= span.start <= new.end and _won(span))
    acquire = acquires[-1] if acquires else new
    barrier = next(iter(of(new.instance, BARRIER, linked)), None)
    bind = min(
        of(new.instance, BIND, lambda span: linked(span) and _applied(span)), key=lambda span: span.end, default=None
    )
    told = [old, *renewals[-1:], *faults, *mine[RELEASE], *mine[LOST], *evidence]
    told += [span for span in during if span.name == ACQUIRE and span.start >= began]
    told += [span for span in during if span.name == DETECTION and span.instance == new.instance and span.end >= began]
    told += [span for span in (new, barrier, bind) if span is not None]
    return Handoff(
        predecessor=old.instance,
        successor=new.instance,
        token=int(new.attributes.get("token", 0)),
        cause=cause,
        began=began,
        detected=acquire.start,
        acquired=acquire.end,
        warm=barrier.end if barrier is not None else None,
        bound=bind.end if bind is not None else None,
        steps=_steps(told, began),
        predecessor_token=int(old.attributes.get("token", 0)),
        by=str(new.attributes.get("takeover", "")),
    )


def _gone(evidence: Span) -> bool:
    return bool(evidence.attributes.get("outcome", "gone") == "gone")


def _won(acquire: Span) -> bool:
    return bool(acquire.attributes.get("outcome", "acquired") == "acquired")


def _applied(bind: Span) -> bool:
    return bool(bind.attributes.get("outcome", "applied") == "applied")


def _steps(spans: Iterable[Span], began: float) -> tuple[Step, ...]:
    unique = {id(span): span for span in spans}.values()
    return tuple(
        Step(span.start - began, span.end - span.start, _subject(span), span.name, _note(span))
        for span in sorted(unique, key=lambda span: (span.start, span.end))
    )


def _subject(span: Span) -> str:
    return str(span.attributes.get("target", "")) if span.name == FAULT else span.instance


def _note(span: Span) -> str:
    return note(span.attributes, ("fault", "token", "outcome", "by", "takeover", "reason", "pods", "revision"))


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e3, 3)


def waterfall(handoff: Handoff, number: int) -> Waterfall:
    """One hand-off as a picture: from the predecessor's last sign of life to the first bind of the successor."""
    rows = tuple(
        Row(
            what=step.what,
            start=handoff.began + step.offset,
            end=handoff.began + step.offset + step.seconds,
            who=step.identity,
            note=step.note,
            failed=step.what in {FAULT, LOST},
        )
        for step in handoff.steps
    )
    later = [row.start for row in rows if row.what != ANCHOR or row.start >= handoff.began]
    by = f", taken over by {handoff.by}" if handoff.by else ""
    return Waterfall(
        title=f"Hand-off {number}: {handoff.predecessor} -> {handoff.successor}",
        origin=handoff.began,
        rows=rows,
        facts=(f"token {handoff.predecessor_token} -> {handoff.token}, began by {handoff.cause}{by}",),
        parts=tuple((name.replace("_", " "), seconds) for name, seconds in handoff.phases.items()),
        since=min(later, default=None),  # the old term began long before
    )


def lines(handoff: Handoff, number: int) -> list[str]:
    """One hand-off for people: its phases, then its timeline."""
    return picture(waterfall(handoff, number))
