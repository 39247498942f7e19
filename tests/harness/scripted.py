"""A server that speaks etcd's watch protocol by a script, for what no etcd at hand can be made to do."""

from __future__ import annotations

import queue
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

import grpc

from lockd.etcd import wire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_END = object()


class ScriptedEtcd(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc's stubs leave it untyped
    """Answers Status, and on its watch streams what it is told to. A context manager.

    Attributes:
        streams: What each stream has asked for so far.
        answers: Does it answer requests for progress?
        version: Of the etcd it claims to be.
    """

    def __init__(self, *, version: str = "3.6.0", cluster: int = 1) -> None:
        self.version = version
        self.cluster = cluster
        self.leader = 1
        self.revision = 10
        self.answers = True
        self.streams: list[list[Any]] = []
        self.statuses = 0
        self._outboxes: list[queue.SimpleQueue[Any]] = []
        self._pool = ThreadPoolExecutor(16)
        self._server = grpc.server(self._pool, handlers=(self,))
        self.endpoint = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def say(self, *, cluster: int | None = None, **fields: Any) -> None:
        """Send a WatchResponse on the newest stream."""
        header = {"cluster_id": cluster or self.cluster, "revision": self.revision}
        self._outboxes[-1].put(wire.WatchResponse(header=header, **fields))

    def cut(self) -> None:
        """End the newest stream."""
        self._outboxes[-1].put(_END)

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if details.method.endswith("Maintenance/Status"):
            return grpc.unary_unary_rpc_method_handler(
                self._status, wire.StatusRequest.FromString, wire.StatusResponse.SerializeToString
            )
        return grpc.stream_stream_rpc_method_handler(
            self._watch, wire.WatchRequest.FromString, wire.WatchResponse.SerializeToString
        )

    def _status(self, _request: Any, _context: Any) -> Any:
        self.statuses += 1
        return wire.StatusResponse(header={"cluster_id": self.cluster}, version=self.version, leader=self.leader)

    def _watch(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        outbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        asked: list[Any] = []
        context.add_callback(lambda: outbox.put(_END))

        def listen() -> None:
            try:
                for request in requests:
                    self._heard(request, asked, outbox)
            except grpc.RpcError:
                outbox.put(_END)

        self._outboxes.append(outbox)
        self.streams.append(asked)
        self._pool.submit(listen)
        while (response := outbox.get()) is not _END:
            yield response

    def _heard(self, request: Any, asked: list[Any], outbox: queue.SimpleQueue[Any]) -> None:
        header = {"cluster_id": self.cluster, "revision": self.revision}
        kind = request.WhichOneof("request_union")
        if kind == "create_request":
            asked.append(request.create_request)
            outbox.put(wire.WatchResponse(header=header, watch_id=request.create_request.watch_id, created=True))
        elif kind == "progress_request" and self.answers:
            outbox.put(wire.WatchResponse(header=header, watch_id=-1))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for outbox in self._outboxes:
            outbox.put(_END)
        self._server.stop(0.0).wait(5.0)
        self._pool.shutdown(wait=False)
