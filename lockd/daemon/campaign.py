"""One campaign: an election for a client at the other end of a stream."""

from __future__ import annotations

import queue
import threading
from collections import deque
from typing import TYPE_CHECKING, Final

import grpc
from google.protobuf.duration_pb2 import Duration

from component import tracing
from component.clock import LONGEST_WAIT
from lockd.daemon.asking import enter_config, given, lock_name, resume_config
from lockd.daemon.refusals import GOING_DOWN, Refusal
from lockd.elector import Callbacks, Elector
from lockd.signals import ORDERLY, StopReason
from lockd.telemetry import ElectionTelemetry
from lockd.v1 import lock_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from component.tracing import Caller
    from lockd.config import ElectionConfig
    from lockd.daemon.backend import Backend
    from lockd.election import Election
    from lockd.lifeline import Claim
    from lockd.ports import LockName
    from lockd.record import LeaderRecord
    from lockd.signals import Stop

FIRST: Final = 10.0
"""Seconds in which a stream's first message must come: until then it holds a place for nothing."""

RESUMING: Final = 5.0
"""Seconds for the read that a resume begins with."""


def duration(seconds: float) -> Duration:
    """Seconds as the wire has them."""
    made = Duration()
    made.FromNanoseconds(round(seconds * 1e9))
    return made


class Campaign:
    """One stream. `answers` is walked through by the thread that serves it; another thread reads what the client says.

    The election outlives its stream where it must: an acquire on its way is settled, and released if it was won.
    """

    def __init__(
        self,
        backend: Backend,
        requests: Iterator[pb.CampaignRequest],
        context: grpc.ServicerContext,
        caller: Caller | None,
    ) -> None:
        self._backend = backend
        self._clock = backend.clock
        self._requests = requests
        self._context = context
        self._caller = caller
        self._first: queue.SimpleQueue[pb.CampaignRequest | None] = queue.SimpleQueue()
        self._out: deque[pb.CampaignResponse] = deque()
        self._elector: Elector | None = None
        self._begun = threading.Event()
        self._closed = threading.Event()
        self._farewell: Refusal | None = None
        self._gone = False

    # --- from other threads ---

    def leave(self) -> None:
        """lockd is going down: end the stream and write nothing, so that its client can go on elsewhere."""
        self._end(Refusal(grpc.StatusCode.UNAVAILABLE, GOING_DOWN))

    def broken(self) -> None:
        """The call is over, whoever ended it."""
        self._gone = True
        self._first.put(None)
        self._begun.set()
        if self._elector is not None:
            self._elector.abandon()

    def _end(self, farewell: Refusal) -> None:
        self._farewell = self._farewell or farewell
        self._first.put(None)
        if self._elector is not None:
            self._elector.abandon()

    def _read(self) -> None:
        """Take in what the client says, until it closes its side or the stream breaks."""
        try:
            for number, request in enumerate(self._requests):
                if number == 0:
                    self._first.put(request)
                    while not self._begun.wait(LONGEST_WAIT) and self._context.is_active():
                        continue
                elif request.WhichOneof("kind") != "keep_alive":
                    text = "after the first message only keep_alive may come: begin another stream for another campaign"
                    self._end(Refusal(grpc.StatusCode.FAILED_PRECONDITION, text))
                elif self._elector is not None:
                    self._elector.keep_alive(request.keep_alive.sequence)
        except Refusal as refusal:
            self._end(refusal)
            return
        except Exception:  # noqa: BLE001 - grpc raises a bare Exception where a stream breaks, which `broken` is told of
            return
        self._closed.set()
        self._first.put(None)
        if self._elector is not None:
            self._elector.keep_alive(0)  # says nothing, and wakes who serves the stream

    # --- the stream ---

    def answers(self) -> Iterator[pb.CampaignResponse]:
        """Everything that the client is told.

        Raises:
            Refusal: The status that the stream ends with, unless that is OK.
        """
        try:
            self._backend.spawn("campaign", self._read)
        except RuntimeError as error:
            raise Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, f"this host has no thread to give: {error}") from error
        elector, wait = self._begin()
        self._elector = elector
        self._begun.set()
        give_up = None if wait is None else self._clock.now() + wait
        turns = elector.turns(LONGEST_WAIT if wait is None else min(LONGEST_WAIT, max(0.02, wait / 10)))
        try:
            if self._gone or self._farewell is not None:
                elector.abandon()
            closing = False
            for _ in turns:
                yield from self._told()
                if self._closed.is_set() and not closing:
                    closing = True
                    yield from self._close(elector)
                if give_up is not None and elector.leadership is None and self._clock.now() >= give_up:
                    text = f"the lock was not free within {wait:g} s"
                    self._end(Refusal(grpc.StatusCode.DEADLINE_EXCEEDED, text))
        finally:
            elector.abandon()  # where the stream is over before the election is
            for _ in turns:
                continue
        yield from self._told()
        stopped = elector.election.stopped
        if stopped is not None:
            yield self._ended(stopped)
            self._leave_with(stopped)

    def _close(self, elector: Elector) -> Iterator[pb.CampaignResponse]:
        """The client's side is closed: cleanly, if the stream still carries an answer.

        A connection that breaks looks like a clean close for a moment, and may not release anything. Both are told
        through one queue, so whatever was to be told of a break has been by the time that an answer has gone out.
        """
        yield pb.CampaignResponse(releasing=pb.Releasing())
        if self._gone or not self._context.is_active():
            elector.abandon()
            return
        elector.request_stop()
        elector.end_work()

    def _told(self) -> Iterator[pb.CampaignResponse]:
        while self._out and not self._gone:
            yield self._out.popleft()

    def _ended(self, stopped: Stop) -> pb.CampaignResponse:
        return pb.CampaignResponse(ended=pb.Ended(reason=stopped.reason.value, released=stopped.released))

    def _leave_with(self, stopped: Stop) -> None:
        if self._farewell is not None:
            raise self._farewell
        if stopped.reason is StopReason.HISTORY_LOST:
            self._backend.lose_history()
            raise Refusal(grpc.StatusCode.UNAVAILABLE, f"{stopped.reason.value}; {GOING_DOWN}")
        if stopped.reason not in ORDERLY or (stopped.led and not stopped.released):
            raise Refusal(grpc.StatusCode.ABORTED, stopped.reason.value)

    # --- the beginning ---

    def _begin(self) -> tuple[Elector, float | None]:
        try:
            request = self._first.get(timeout=FIRST)
        except queue.Empty:
            text = f"send enter or resume within {FIRST:g} s"
            raise Refusal(grpc.StatusCode.DEADLINE_EXCEEDED, text) from None
        if self._farewell is not None:
            raise self._farewell
        if request is None:
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "send enter or resume before the stream is closed")
        match request.WhichOneof("kind"):
            case "enter":
                lock, config, wait = enter_config(self._backend.prefix, request.enter)
                return self._elect(lock, config), wait
            case "resume":
                return self._resume(request.resume), None
            case _:
                raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "the first message must be enter or resume")

    def _resume(self, resume: pb.Resume) -> Elector:
        lock = lock_name(self._backend.prefix, resume.lock)
        terms = self._backend.terms
        claim, record = terms.claim(lock, resume.fencing_token, resume.acquisition, within=RESUMING)
        durations = given(resume, "renew_deadline", "retry_period")
        config = resume_config(lock, record.holder_identity, record.lease_duration, durations)
        return self._elect(lock, config, claim=claim, record=record)

    def _elect(
        self, lock: LockName, config: ElectionConfig, *, claim: Claim | None = None, record: LeaderRecord | None = None
    ) -> Elector:
        telemetry = ElectionTelemetry(
            config.identity, lock, self._clock, quiet=True, numbers=self._backend.metrics, caller=self._caller
        )
        traceparent = record.traceparent if record is not None else tracing.new_traceparent(self._caller)

        def step(before: Election, after: Election, now: float) -> None:
            telemetry.step(before, after, now)
            self._tell(before, after)

        return Elector(
            config,
            lock,
            self._backend.hub.store(lock),
            clock=self._clock,
            traceparent=traceparent,
            for_client=True,
            claim=claim,
            callbacks=Callbacks(on_started_leading=None, on_new_leader=self._waiting(config.identity), on_step=step),
        )

    # --- what is told ---

    def _waiting(self, identity: str) -> Callable[[str], None]:
        def observed(holder: str) -> None:
            if holder != identity:
                self._out.append(pb.CampaignResponse(waiting=pb.Waiting(holder_identity=holder)))

        return observed

    def _tell(self, before: Election, after: Election) -> None:
        """What is new to the client between two values of its election."""
        lifeline, hold = after.lifeline, after.hold
        if hold is not None and hold.led and after.ending is None and lifeline is not None:
            if not before.led:
                self._backend.metrics.begun(hold.record.takeover, resumed=after.claim is not None)
                self._out.append(_leading(after))
            elif before.lifeline is not None and lifeline.answered > before.lifeline.answered:
                self._out.append(pb.CampaignResponse(kept_alive=pb.KeptAlive(sequence=lifeline.answered)))
        by_wish = after.draining is not None and before.draining is None and after.switchover_is_mine
        if by_wish:
            seconds = duration(after.config.drain_timeout)
            self._out.append(
                pb.CampaignResponse(draining=pb.Draining(successor=after.successor, drain_timeout=seconds))
            )


def _leading(election: Election) -> pb.CampaignResponse:
    hold, lifeline, config = election.hold, election.lifeline, election.config
    if hold is None or lifeline is None:
        raise AssertionError("who leads for a client holds a term and has heard of it")
    return pb.CampaignResponse(
        leading=pb.Leading(
            fencing_token=hold.token,
            identity=config.identity,
            acquisition=hold.term.acquisition,
            traceparent=hold.record.traceparent,
            sequence=max(0, lifeline.answered),
            lease_duration=duration(config.lease_duration),
            renew_deadline=duration(config.renew_deadline),
            retry_period=duration(config.retry_period),
        )
    )
