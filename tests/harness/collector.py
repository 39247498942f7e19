"""An OpenTelemetry collector in a few lines: it keeps what it is sent over OTLP/gRPC, or treats its clients badly."""

from __future__ import annotations

import base64
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

from component.tracing.reading import request_spans

IDS = ("traceId", "spanId", "parentSpanId")


class Collector(trace_service_pb2_grpc.TraceServiceServicer, metrics_service_pb2_grpc.MetricsServiceServicer):
    """Listens on a loopback port while used as a context manager.

    Args:
        port: By default a free one.
        refusal: The status that every request gets; None: they are taken.
        delay: Seconds that each answer takes.

    Attributes:
        endpoint: For OTEL_EXPORTER_OTLP_ENDPOINT.
        requests: Export requests of any signal that were taken, in order of arrival.
        asked: How many came.
    """

    def __init__(self, *, port=0, refusal=None, delay=0.0):
        self.requests = []
        self.asked = 0
        self._port = port
        self._refusal = refusal
        self._delay = delay
        self._leaving = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self):
        self._server = grpc.server(ThreadPoolExecutor(16), options=(("grpc.so_reuseport", 0),))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(self, self._server)
        metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(self, self._server)
        self.endpoint = f"http://127.0.0.1:{self._server.add_insecure_port(f'127.0.0.1:{self._port}')}"
        self._server.start()
        return self

    def __exit__(self, *_):
        self._leaving.set()
        self._server.stop(None).wait()

    def Export(self, request, context):  # noqa: N802 - gRPC's name; both services call it so
        with self._lock:
            self.asked += 1
        self._leaving.wait(self._delay)
        if self._refusal is not None:
            context.abort(self._refusal, "not here")
        with self._lock:
            self.requests.append(request)
        if isinstance(request, trace_service_pb2.ExportTraceServiceRequest):
            return trace_service_pb2.ExportTraceServiceResponse()
        return metrics_service_pb2.ExportMetricsServiceResponse()

    def received(self):
        """The spans received, as the readers of trace files have them."""
        requests = [request for request in list(self.requests) if hasattr(request, "resource_spans")]
        found = [span for request in requests for span in request_spans(_with_hex_ids(MessageToDict(request)))]
        return tuple(sorted(found, key=lambda span: (span.start, span.end)))

    @property
    def spans(self):
        """Names of the spans received, in order of arrival."""
        return [
            span.name
            for request in list(self.requests)
            for resource in getattr(request, "resource_spans", ())
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def metrics(self):
        """Names of the metrics received."""
        return {
            metric.name
            for request in list(self.requests)
            for resource in getattr(request, "resource_metrics", ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


def _with_hex_ids(value):
    """OTLP's JSON has ids in hex, where protobuf's own would have base64."""
    if isinstance(value, dict):
        return {key: base64.b64decode(item).hex() if key in IDS else _with_hex_ids(item) for key, item in value.items()}
    return [_with_hex_ids(item) for item in value] if isinstance(value, list) else value


@contextmanager
def hung_collector():
    """An endpoint that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def dead_collector():
    """An endpoint that refuses connections: its port is kept, and not listened on."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"
