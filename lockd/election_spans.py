"""The spans of one election: short ones that link to the anchors of the terms they are about, by `link.kind`.

docs/telemetry.md has the table of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from component import tracing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from component.clock import Clock
    from component.tracing import Caller
    from lockd.candidacy import Unsettled
    from lockd.drafts import Hold
    from lockd.election import Election
    from lockd.ports import Acquire, LockName, Release
    from lockd.record import LeaderRecord

PREDECESSOR: Final = {"link.kind": "predecessor_term"}
TERM: Final = {"link.kind": "leadership_term"}


class ElectionSpans:
    """Emits them. Every method returns at once.

    Args:
        caller: Whoever asked for the election: the anchor is a child of that span.
    """

    def __init__(self, identity: str, lock: LockName, clock: Clock, caller: Caller | None = None) -> None:
        self._identity = identity
        self._lock = f"{lock.namespace}/{lock.name}"
        self._clock = clock
        self._caller = caller

    def acquire(self, unsettled: Unsettled, acquire: Acquire, before: Election, after: Election, now: float) -> None:
        """An acquire that is settled; before one that won, what it was sent for."""
        won = after.hold is not None and before.hold is None
        seen, record, takeover = before.observed.first_seen, before.observed.record, acquire.record.takeover
        holder = record.holder_identity if record is not None else ""
        links = _to_predecessor(record)
        offset, sent = self._clock.wall() - self._clock.now(), unsettled.first_sent
        if won and takeover != "first":
            self._emit("leader_election.detection", seen, sent, links, offset, by=takeover, holder=holder)
        self._emit(
            "leader_election.acquire",
            sent,
            now,
            [*links, *_to_term(acquire.record.traceparent if won else "")],
            offset,
            outcome="acquired" if won else "conflict",
            takeover=takeover,
            holder=holder,
            seconds_since_last_seen=round(sent - seen, 6),
            transitions=acquire.record.leader_transitions,
            copies=unsettled.copies,
        )

    def renewed(self, unsettled: Unsettled, hold: Hold, now: float) -> None:
        self._emit(
            "leader_election.renew",
            unsettled.first_sent,
            now,
            _to_term(hold.record.traceparent),
            outcome="renewed",
            token=int(hold.token),
            revision=hold.lease_revision,
            copies=unsettled.copies,
        )

    def not_renewed(self, unsettled: Unsettled, election: Election, now: float) -> None:
        links = _to_term(election.traceparent)
        self._emit("leader_election.renew", unsettled.first_sent, now, links, outcome="lost", copies=unsettled.copies)

    def started(self, hold: Hold, before: Election, after: Election, now: float) -> None:
        """The anchor of a term, which is named in the record already; or a term that is taken up again."""
        predecessor = before.observed.record if before.hold is None else None
        resumed = after.claim is not None  # its anchor is as old as the term
        tracing.emit(
            "leader_election.resumed" if resumed else "leader_election.started_leading",
            start=self._wall(now),
            end=self._clock.wall(),
            traceparent=None if resumed else after.traceparent or None,
            parent=self._caller,
            links=_to_term(after.traceparent) if resumed else _to_predecessor(predecessor),
            attributes={
                "identity": self._identity,
                "lock": self._lock,
                "token": int(hold.token),
                "takeover": hold.record.takeover,
                "predecessor": predecessor.holder_identity if predecessor is not None else "",
                "transitions": hold.record.leader_transitions,
            },
        )

    def lost(self, election: Election, now: float, *, reason: str, release: bool) -> None:
        links = _to_term(election.traceparent)
        self._emit("leader_election.lost", now, now, links, reason=reason, release=release)

    def released(self, unsettled: Unsettled, release: Release, now: float, *, settled: bool) -> None:
        self._emit(
            "leader_election.release",
            unsettled.first_sent,
            now,
            _to_term(release.record.traceparent),
            outcome="released" if settled else "given up",
            token=release.token,
            successor=release.record.preferred_holder,
        )

    def _wall(self, moment: float) -> float:
        return self._clock.wall() - (self._clock.now() - moment)

    def _emit(
        self,
        name: str,
        start: float,
        end: float,
        links: Sequence[tuple[str, Mapping[str, str]]],
        offset: float | None = None,
        **attributes: str | float | bool,
    ) -> None:
        """Emit one of them; `offset` is the wall clock's, so that what was one moment stays one."""
        offset = self._clock.wall() - self._clock.now() if offset is None else offset
        tracing.emit(
            name,
            start=start + offset,
            end=end + offset,
            links=links,
            attributes={"identity": self._identity, "lock": self._lock, **attributes},
        )


def _to_term(traceparent: str) -> list[tuple[str, Mapping[str, str]]]:
    return [(traceparent, TERM)] if traceparent else []


def _to_predecessor(record: LeaderRecord | None) -> list[tuple[str, Mapping[str, str]]]:
    return [(record.traceparent, PREDECESSOR)] if record is not None and record.traceparent else []
