"""What an election tells: short spans, metrics and one log line a transition, by comparing two of its values.

No span lasts a term: a killed leader would never export it. The anchor `leader_election.started_leading` is emitted
as the term begins, with the identifier that the record already carries, and links to its predecessor's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import metrics

from component import logs, tracing
from lockd.ports import Acquire, Release

if TYPE_CHECKING:
    from component.clock import Clock
    from lockd.candidacy import Unsettled
    from lockd.election import Election
    from lockd.errors import StoreError
    from lockd.ports import LockName

ANCHOR_LINK = {"link.kind": "predecessor_term"}
TERM_LINK = {"link.kind": "leadership_term"}

_log = logs.get("lockd.election")


class ElectionTelemetry:
    """Spans, metrics and log lines of one elector. Every method returns at once and never raises into the election.

    Args:
        quiet: A lost term is no error in the log: whoever owns the elector tells a person of it.
        metered: Has it metrics? Not where a process has electors by the hundred, for locks that others name.
        caller: W3C trace context of whoever asked for the election; "" for nobody.
    """

    def __init__(
        self,
        identity: str,
        lock: LockName,
        clock: Clock,
        *,
        quiet: bool = False,
        metered: bool = True,
        caller: str = "",
    ) -> None:
        self._tell_loss = _log.info if quiet else _log.error
        self._identity = identity
        self._lock = f"{lock.namespace}/{lock.name}"
        self._name = lock.name
        self._clock = clock
        self._gate: float | None = None
        self._renewed_wall: float | None = None
        self._caller = caller or None
        meter = metrics.get_meter("lockd") if metered else metrics.NoOpMeter("lockd")
        self._master = meter.create_gauge(
            "leader_election_master_status",
            description="1 while this process leads, else 0.",
        )
        self._transitions = meter.create_counter(
            "lockd_leader_transitions", description="Terms begun by this process, by how they began."
        )
        self._renewals = meter.create_histogram(
            "lockd_lease_renew_duration",
            unit="s",
            description="From the first send of a renewal to the news that it was committed.",
            explicit_bucket_boundaries_advisory=[0.001 * 2**n for n in range(15)],
        )
        meter.create_observable_gauge(
            "lockd_lease_remaining",
            [self._remaining],
            unit="s",
            description="Seconds until the gate of the term closes.",
        )
        meter.create_observable_gauge(
            "lockd_lease_last_renew_timestamp",
            [self._last_renew],
            unit="s",
            description="When the last renewal was settled, in seconds since 1970.",
        )
        self._master.set(0, {"name": self._name})

    def _remaining(self, _: metrics.CallbackOptions) -> list[metrics.Observation]:
        if self._gate is None:
            return []
        return [metrics.Observation(max(0.0, self._gate - self._clock.now()), {"name": self._name})]

    def _last_renew(self, _: metrics.CallbackOptions) -> list[metrics.Observation]:
        if self._renewed_wall is None:
            return []
        return [metrics.Observation(self._renewed_wall, {"name": self._name})]

    # --- callbacks of the elector ---

    def new_leader(self, identity: str) -> None:
        _log.info("new leader observed", lock=self._lock, leader=identity or "(none)")

    def degraded(self, error: StoreError | None) -> None:
        if error is None:
            _log.info("etcd answers again", lock=self._lock)
        else:
            _log.warning("etcd does not answer the election", lock=self._lock, error=str(error), code=error.code)

    def step(self, before: Election, after: Election, now: float) -> None:
        """Tell what changed between two values of the election."""
        if after.observed.unreadable and not before.observed.unreadable:
            _log.warning(
                "election record can't be read: it counts as held until it is unchanged for a lease duration",
                lock=self._lock,
                revision=after.observed.lease.revision if after.observed.lease is not None else 0,
            )
        if before.unsettled is not None and after.unsettled is not before.unsettled:
            self._settled(before.unsettled, before, after, now)
        if after.hold is not None and after.hold.led and not (before.hold is not None and before.hold.led):
            self._started(before, after, now)
        if after.ending is not None and before.ending is None and before.gate > float("-inf"):
            self._lost(after, now)
        if after.stopped is not None and before.stopped is None:
            self._stopped(before, after, now)

    def _settled(self, unsettled: Unsettled, before: Election, after: Election, now: float) -> None:
        held_before, held = before.hold, after.hold
        if isinstance(unsettled.transaction, Acquire):
            outcome = "acquired" if held is not None and held_before is None else "conflict"
            record = before.observed.record
            self._emit(
                "leader_election.acquire",
                unsettled.first_sent,
                now,
                outcome=outcome,
                takeover=unsettled.transaction.record.takeover,
                holder=record.holder_identity if record is not None else "",
                seconds_since_last_seen=round(unsettled.first_sent - before.observed.first_seen, 6),
                transitions=unsettled.transaction.record.leader_transitions,
                copies=unsettled.copies,
            )
            if outcome == "conflict":
                _log.debug("lease taken by another", lock=self._lock)
        elif held is not None and held_before is not None and held.sent != held_before.sent:
            self._renewals.record(now - unsettled.first_sent, {"name": self._name})
            self._gate, self._renewed_wall = after.gate, self._clock.wall()
            self._emit(
                "leader_election.renew",
                unsettled.first_sent,
                now,
                outcome="renewed",
                token=int(held.token),
                revision=held.lease_revision,
                copies=unsettled.copies,
            )
        else:
            self._emit("leader_election.renew", unsettled.first_sent, now, outcome="lost", copies=unsettled.copies)

    def _started(self, before: Election, after: Election, now: float) -> None:
        hold = after.hold
        if hold is None:
            return
        predecessor = before.observed.record if before.hold is None else None
        links = [(predecessor.traceparent, ANCHOR_LINK)] if predecessor is not None and predecessor.traceparent else []
        wall = self._wall(now)
        resumed = after.claim is not None  # its anchor is as old as the term
        tracing.emit(
            "leader_election.resumed" if resumed else "leader_election.started_leading",
            start=wall,
            end=self._clock.wall(),
            traceparent=None if resumed else after.traceparent or None,
            parent=self._caller,
            links=[(after.traceparent, TERM_LINK)] if resumed and after.traceparent else links,
            attributes={
                "identity": self._identity,
                "lock": self._lock,
                "token": int(hold.token),
                "takeover": hold.record.takeover,
                "predecessor": predecessor.holder_identity if predecessor is not None else "",
                "transitions": hold.record.leader_transitions,
            },
        )
        self._gate, self._renewed_wall = after.gate, self._clock.wall()
        self._master.set(1, {"name": self._name})
        self._transitions.add(1, {"name": self._name, "takeover": hold.record.takeover})
        told = "goes on leading" if resumed else "started leading"
        _log.info(told, lock=self._lock, token=int(hold.token), takeover=hold.record.takeover)

    def _lost(self, after: Election, now: float) -> None:
        if after.ending is None:
            return
        self._gate = None
        self._master.set(0, {"name": self._name})
        self._emit("leader_election.lost", now, now, reason=after.ending.reason.value, release=after.ending.release)
        if after.ending.release and after.draining is not None:
            _log.info("stops leading", lock=self._lock, reason=after.ending.reason.value)
        else:
            self._tell_loss("leaderelection lost", lock=self._lock, reason=after.ending.reason.value)

    def _stopped(self, before: Election, after: Election, now: float) -> None:
        if after.stopped is None:
            return
        releasing = before.releasing
        if releasing is not None and isinstance(releasing.transaction, Release):
            outcome = "released" if after.stopped.released else "given up"
            self._emit(
                "leader_election.release",
                releasing.first_sent,
                now,
                outcome=outcome,
                token=releasing.transaction.token,
                successor=releasing.transaction.record.preferred_holder,
            )
        _log.info(
            "election ended",
            lock=self._lock,
            reason=after.stopped.reason.value,
            led=after.stopped.led,
            released=after.stopped.released,
        )

    # --- spans ---

    def _wall(self, moment: float) -> float:
        return self._clock.wall() - (self._clock.now() - moment)

    def _emit(self, name: str, start: float, end: float, **attributes: str | float | bool) -> None:
        tracing.emit(
            name,
            start=self._wall(start),
            end=self._wall(end),
            attributes={"identity": self._identity, "lock": self._lock, **attributes},
        )
