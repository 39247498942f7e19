"""The methods of proto/lockd/v1."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import grpc
from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from component import tracing
from component.tracing import Caller
from lockd.daemon.asking import lock_name
from lockd.daemon.campaign import Campaign
from lockd.daemon.observing import Observing
from lockd.daemon.refusals import refusal, refuse
from lockd.errors import LockdError
from lockd.status import read_history
from lockd.v1 import lock_pb2 as pb
from lockd.v1.lock_pb2_grpc import LockServiceServicer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockd.daemon.backend import Backend

SERVICE = pb.DESCRIPTOR.services_by_name["LockService"].full_name

OURS: Final = frozenset(
    {
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
"""Statuses that are a server's failure; the others tell callers of their own."""


def caller_of(context: grpc.ServicerContext) -> Caller | None:
    """The span that the caller was in, by W3C trace context; None when it sent none."""
    return Caller.of(context.invocation_metadata() or ())


class LockService(LockServiceServicer):
    """Answers calls; each is served by a thread of the server's pool."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._tracer = trace.get_tracer("lockd")

    def Campaign(  # noqa: N802 - as in the .proto
        self, request_iterator: Iterator[pb.CampaignRequest], context: grpc.ServicerContext
    ) -> Iterator[pb.CampaignResponse]:
        campaign = Campaign(self._backend, request_iterator, context, caller_of(context))
        context.add_callback(campaign.broken)
        with self._backend.streaming(campaign):
            try:
                yield from campaign.answers()
            except LockdError as error:
                refuse(context, error)

    def Observe(  # noqa: N802 - as in the .proto
        self, request: pb.ObserveRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.ObserveResponse]:
        try:
            lock = lock_name(self._backend.prefix, request.lock)
            observing = Observing(self._backend, lock, request.after_revision, context)
            context.add_callback(observing.broken)
            with self._backend.streaming(observing):
                yield from observing.answers()
        except LockdError as error:
            refuse(context, error)

    def Check(self, request: pb.CheckRequest, context: grpc.ServicerContext) -> pb.CheckResponse:  # noqa: N802
        with self._answering("Check", context):
            lock = lock_name(self._backend.prefix, request.lock)
            standing = self._backend.terms.standing(lock, within=self._left(context))
            standing.judge(request.fencing_token)
            return pb.CheckResponse(
                newest=standing.token == request.fencing_token,
                current_token=standing.token,
                holder_identity=standing.holder,
                revision=standing.revision,
            )

    def Resign(self, request: pb.ResignRequest, context: grpc.ServicerContext) -> pb.ResignResponse:  # noqa: N802
        with self._answering("Resign", context):
            lock = lock_name(self._backend.prefix, request.lock)
            released = self._backend.terms.resign(
                lock, request.fencing_token, request.acquisition, within=self._left(context)
            )
            return pb.ResignResponse(released=released)

    def History(self, request: pb.HistoryRequest, context: grpc.ServicerContext) -> pb.HistoryResponse:  # noqa: N802
        with self._answering("History", context):
            lock = lock_name(self._backend.prefix, request.lock)
            terms = read_history(self._backend.calls, lock, timeout=self._left(context))
            return pb.HistoryResponse(
                terms=[
                    pb.Term(
                        identity=term["holderIdentity"],
                        fencing_token=term["fencingToken"],
                        since=term["since"],
                        until=term["until"],
                        takeover=term["takeover"],
                        ended_by=term["endedBy"],
                    )
                    for term in terms
                ]
            )

    def _left(self, context: grpc.ServicerContext) -> float:
        """Seconds for what a call asks of etcd: the caller's deadline, if it has one, and no longer than ours."""
        left = context.time_remaining()
        return self._backend.timeout if left is None else min(left, self._backend.timeout)

    @contextmanager
    def _answering(self, method: str, context: grpc.ServicerContext) -> Iterator[None]:
        """A span in the caller's trace, and the right status for what goes wrong."""
        with (
            tracing.attached(caller_of(context)),
            self._tracer.start_as_current_span(f"{SERVICE}/{method}", kind=SpanKind.SERVER) as span,
        ):
            began, code = self._backend.clock.now(), grpc.StatusCode.UNKNOWN  # what gRPC makes of a bug
            if span.is_recording():
                span.set_attributes({"rpc.system.name": "grpc", "rpc.method": f"{SERVICE}/{method}"})
            try:
                yield
            except LockdError as error:
                code = refusal(error).code
                if code in OURS:
                    span.set_attribute("error.type", code.name)
                    span.set_status(Status(StatusCode.ERROR, str(error)))
                refuse(context, error)
            else:
                code = grpc.StatusCode.OK
            finally:
                span.set_attribute("rpc.response.status_code", code.name)
                seconds = self._backend.clock.now() - began
                self._backend.metrics.answered(method, code.name, seconds)
