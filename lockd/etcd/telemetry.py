"""A span and a duration for each call; both cost next to nothing where nobody records them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from component import tracing
from lockd.errors import HistoryLost, OutcomeUnknown, Rejected, StoreError, Unavailable
from lockd.etcd.channel import WATCH

if TYPE_CHECKING:
    from component.clock import Clock
    from lockd.etcd.channel import Method

_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_OUTCOMES: Final = (
    (Unavailable, "unavailable"),
    (OutcomeUnknown, "unknown"),
    (Rejected, "rejected"),
    (HistoryLost, "history_lost"),
)

_tracer = trace.get_tracer("lockd.etcd")
_durations = metrics.get_meter("lockd.etcd").create_histogram(
    "etcd_client_request_duration_seconds",
    unit="s",
    description="Time of a call to etcd until its outcome was known, by operation and outcome.",
    explicit_bucket_boundaries_advisory=list(_BUCKETS),
)


class CallSpan:
    """Observes one call to one member, from `sending` it to its end."""

    __slots__ = ("_clock", "_name", "_span", "_started")

    def __init__(self, method: Method, endpoint: str, clock: Clock) -> None:
        self._clock = clock
        self._name = method.name
        self._started = clock.now()
        name = method.path[1:]
        self._span = _tracer.start_span(name, kind=SpanKind.CLIENT)
        if self._span.is_recording():
            self._span.set_attributes(_of_call(name, endpoint))

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What tells the member of this span, if it is recorded."""
        return tracing.fields_of(self._span)

    def succeeded(self, header: Any, *, txn: bool | None = None) -> None:
        """It was answered, with this header; `txn` tells whether a transaction's compares held."""
        if self._span.is_recording():
            self._span.set_attribute("rpc.response.status_code", "OK")
            self._span.set_attribute("etcd.revision", header.revision)
            self._span.set_attribute("etcd.member_id", f"{header.member_id:x}")
            self._span.set_attribute("etcd.raft_term", header.raft_term)
            if txn is not None:
                self._span.set_attribute("etcd.txn.succeeded", txn)
        self._end("ok")

    def failed(self, error: StoreError) -> None:
        """It brought an error."""
        outcome = outcome_of(error)
        if self._span.is_recording():
            self._span.set_attribute("rpc.response.status_code", error.code or "OK")
            self._span.set_attribute("error.type", error.code or outcome)
            self._span.set_status(Status(StatusCode.ERROR, str(error)))
        self._end(outcome)

    def _end(self, outcome: str) -> None:
        self._span.end()
        _durations.record(self._clock.now() - self._started, {"operation": self._name, "outcome": outcome})


class Opening:
    """Observes how a watch's stream is opened, from the first question to the member to its first answer.

    The stream itself lasts too long for a span.
    """

    def __init__(self, endpoint: str, clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._began: float | None = clock.now()

    def succeeded(self) -> None:
        """The stream has shown something; only the first time counts."""
        self._end(None)

    def failed(self, error: StoreError) -> None:
        """It brought an error; nothing new once it had shown something."""
        self._end(error)

    def _end(self, error: StoreError | None) -> None:
        if self._began is None:
            return
        seconds, self._began, wall = self._clock.now() - self._began, None, self._clock.wall()
        tracing.emit(
            "etcd.watch.open",
            start=wall - seconds,
            end=wall,
            attributes={
                **_of_call(WATCH.path[1:], self._endpoint),
                "rpc.response.status_code": "OK" if error is None else error.code or None,
                "error.type": None if error is None else error.code or outcome_of(error),
            },
            error=str(error) if error is not None else None,
            kind=SpanKind.CLIENT,
            scope="lockd.etcd",
        )


def _of_call(method: str, endpoint: str) -> dict[str, str | int]:
    host, _, port = endpoint.rpartition(":")
    return {
        "rpc.system.name": "grpc",
        "rpc.method": method,
        "server.address": host.strip("[]"),
        "server.port": int(port),
    }


def outcome_of(error: StoreError) -> str:
    """The class of an error as a metric's label."""
    if error.code == "CANCELLED":
        return "cancelled"
    return next((name for kind, name in _OUTCOMES if isinstance(error, kind)), "error")
