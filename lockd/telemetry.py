"""What an election tells: short spans, metrics and one log line a transition, by comparing two of its values.

No span lasts a term: a killed leader would never export it. The anchor `leader_election.started_leading` is emitted
as the term begins, with the identifier that the record already carries, and links to its predecessor's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from component import logs, tracing
from lockd.election_metrics import LockMetrics
from lockd.election_spans import ElectionSpans
from lockd.errors import PermissionDenied
from lockd.ports import Acquire, Release

if TYPE_CHECKING:
    from component.clock import Clock
    from component.tracing import Caller
    from lockd.candidacy import Unsettled
    from lockd.election import Election
    from lockd.election_metrics import ElectionMetrics
    from lockd.errors import StoreError
    from lockd.ports import LockName

_log = logs.get("lockd.election")


class ElectionTelemetry:
    """Spans, metrics and log lines of one elector. Every method returns at once and never raises into the election.

    Args:
        quiet: A lost term is no error in the log: whoever owns the elector tells a person of it.
        numbers: What keeps its numbers; by default its own, by the lock's name.
        caller: Whoever asked for the election.
    """

    def __init__(
        self,
        identity: str,
        lock: LockName,
        clock: Clock,
        *,
        quiet: bool = False,
        numbers: ElectionMetrics | None = None,
        caller: Caller | None = None,
    ) -> None:
        self._tell_loss = _log.info if quiet else _log.error
        self._lock = f"{lock.namespace}/{lock.name}"
        self._spans = ElectionSpans(identity, lock, clock, caller)
        self._numbers = LockMetrics(lock.name, clock) if numbers is None else numbers

    # --- callbacks of the elector ---

    def new_leader(self, identity: str) -> None:
        _log.info("new leader observed", lock=self._lock, leader=identity or "(none)")

    def degraded(self, error: StoreError | None) -> None:
        if error is None:
            _log.info("etcd answers again", lock=self._lock)
        elif isinstance(error, PermissionDenied):
            _log.warning("etcd refuses the election", lock=self._lock, error=str(error), code=error.code)
        else:
            _log.warning("etcd does not answer the election", lock=self._lock, error=str(error), code=error.code)

    def step(self, before: Election, after: Election, now: float) -> None:
        """Tell what changed between two values of the election; log lines of one that leads carry its anchor's ids."""
        if not (after.led or before.led):
            self._step(before, after, now)
            return
        with tracing.attached(after.traceparent):
            self._step(before, after, now)

    def _step(self, before: Election, after: Election, now: float) -> None:
        if after.observed is not before.observed:
            self._seen(before, after)
        if after.observed.unreadable and not before.observed.unreadable:
            _log.warning(
                "election record can't be read: it counts as held until it is unchanged for a lease duration",
                lock=self._lock,
                revision=after.observed.lease.revision if after.observed.lease is not None else 0,
            )
        if before.unsettled is not None and not _goes_on(before.unsettled, after.unsettled):
            self._settled(before.unsettled, before, after, now)
        if after.hold is not None and after.hold.led and not (before.hold is not None and before.hold.led):
            self._started(before, after, now)
        if after.ending is not None and before.ending is None and before.gate > float("-inf"):
            self._lost(after, now)
        if after.stopped is not None and before.stopped is None:
            self._stopped(before, after, now)

    def _seen(self, before: Election, after: Election) -> None:
        if after.observed.record is not None:
            self._numbers.observed(after.observed.record.leader_transitions)
        for _, refused in after.observed.refusals - before.observed.refusals:
            self._numbers.reported(refused)

    def _settled(self, unsettled: Unsettled, before: Election, after: Election, now: float) -> None:
        held_before, held = before.hold, after.hold
        if isinstance(unsettled.transaction, Acquire):
            self._spans.acquire(unsettled, unsettled.transaction, before, after, now)
            if held is not None and held_before is None:
                self._took_over(unsettled, before, now)
            else:
                _log.debug("lease taken by another", lock=self._lock)
        elif held is not None and held_before is not None and held.sent != held_before.sent:
            self._numbers.renewed(now - unsettled.first_sent, unsettled.copies, after.gate)
            self._spans.renewed(unsettled, held, now)
        else:
            self._spans.not_renewed(unsettled, before, now)

    def _took_over(self, unsettled: Unsettled, before: Election, now: float) -> None:
        takeover = unsettled.transaction.record.takeover
        if takeover != "first":
            sent = unsettled.first_sent
            detection = sent - before.observed.first_seen
            self._numbers.took_over(takeover, detection=detection, election=now - sent)

    def _started(self, before: Election, after: Election, now: float) -> None:
        hold = after.hold
        if hold is None:
            return
        self._spans.started(hold, before, after, now)
        self._numbers.started(hold.record.takeover, after.gate)
        told = "goes on leading" if after.claim is not None else "started leading"
        _log.info(told, lock=self._lock, token=int(hold.token), takeover=hold.record.takeover)

    def _lost(self, after: Election, now: float) -> None:
        if after.ending is None:
            return
        reason = after.ending.reason.value
        asked = after.ending.release and after.draining is not None
        self._numbers.lost(reason, asked=asked)
        self._spans.lost(after, now, reason=reason, release=after.ending.release)
        if asked:
            _log.info("stops leading", lock=self._lock, reason=reason)
        else:
            self._tell_loss("leaderelection lost", lock=self._lock, reason=reason)

    def _stopped(self, before: Election, after: Election, now: float) -> None:
        if after.stopped is None:
            return
        releasing = before.releasing
        if releasing is not None and isinstance(releasing.transaction, Release):
            self._spans.released(releasing, releasing.transaction, now, settled=after.stopped.released)
        _log.info(
            "election ended",
            lock=self._lock,
            reason=after.stopped.reason.value,
            led=after.stopped.led,
            released=after.stopped.released,
        )


def _goes_on(before: Unsettled, after: Unsettled | None) -> bool:
    """Is it the same transaction, at most in a further copy?"""
    return after is not None and after.transaction is before.transaction
