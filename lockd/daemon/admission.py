"""How many streams there may be at once, so that short calls always get through."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

import grpc
from opentelemetry import metrics

from component import logs
from lockd.daemon.wrapping import Interceptor, answering, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lockd.daemon.wrapping import Handler

_log = logs.get("lockd.serve")


def peer_of(context: grpc.ServicerContext) -> str:
    """Who a stream is of: a client certificate's name, else a host, else the unix socket."""
    names: Any = context.auth_context().get("x509_common_name")
    if names:
        return f"certificate {names[0].decode(errors='replace')}"
    kind, _, address = context.peer().partition(":")
    return address.rpartition(":")[0] if kind in ("ipv4", "ipv6") else kind


class Admission(Interceptor):
    """Counts the streams of all services, each of which holds a thread, and refuses those above the limits.

    Args:
        total: Streams of all peers.
        per_peer: Streams of one peer.
    """

    def __init__(self, total: int, per_peer: int) -> None:
        self._total = total
        self._per_peer = per_peer
        self._lock = threading.Lock()
        self._open: Counter[str] = Counter()
        meter = metrics.get_meter("lockd")
        meter.create_observable_gauge(
            "lockd_serve_streams",
            [lambda _: [metrics.Observation(self.open)]],
            description="Streams that are open.",
        )
        self._refused = meter.create_counter("lockd_serve_streams_refused", description="Streams above the limits.")
        self._refused.add(0)

    @property
    def open(self) -> int:
        """Streams at the moment."""
        with self._lock:
            return self._open.total()

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Handler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Put the count around each method that answers by a stream."""
        handler: Any = continuation(handler_call_details)
        if handler is None or not handler.response_streaming:
            return cast("Handler | None", handler)
        inner = answering(handler)

        def counted(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            peer = peer_of(context)
            self._enter(peer, context)
            try:
                yield from inner(request, context)
            finally:
                self._leave(peer)

        return wrapped(handler, counted)

    def _enter(self, peer: str, context: grpc.ServicerContext) -> None:
        with self._lock:
            total, mine = self._open.total(), self._open[peer]
            problem = ""
            if mine >= self._per_peer:
                problem = f"this client has {mine} streams open, and may have {self._per_peer}: close some"
            elif total >= self._total:
                problem = f"this lockd has {total} streams open, and may have {self._total}: ask another one"
            else:
                self._open[peer] += 1
        if problem:
            self._refused.add(1)
            _log.debug("stream refused", peer=peer, open=total, of_peer=mine)
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, problem)

    def _leave(self, peer: str) -> None:
        with self._lock:
            self._open[peer] -= 1
            if not self._open[peer]:
                del self._open[peer]
