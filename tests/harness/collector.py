"""An OpenTelemetry collector in a few lines: it keeps what it is sent over OTLP/gRPC."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc


class Collector(trace_service_pb2_grpc.TraceServiceServicer, metrics_service_pb2_grpc.MetricsServiceServicer):
    """Listens on a free loopback port while used as a context manager.

    Attributes:
        endpoint: For OTEL_EXPORTER_OTLP_ENDPOINT.
        requests: Export requests of any signal, in order of arrival.
    """

    def __init__(self):
        self.requests = []
        self._lock = threading.Lock()

    def __enter__(self):
        self._server = grpc.server(ThreadPoolExecutor(2))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(self, self._server)
        metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(self, self._server)
        self.endpoint = f"http://127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()
        return self

    def __exit__(self, *_):
        self._server.stop(None).wait()

    def Export(self, request, _context):  # noqa: N802 - gRPC's name; both services call it so
        with self._lock:
            self.requests.append(request)
        if isinstance(request, trace_service_pb2.ExportTraceServiceRequest):
            return trace_service_pb2.ExportTraceServiceResponse()
        return metrics_service_pb2.ExportMetricsServiceResponse()

    @property
    def spans(self):
        """Names of the spans received."""
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
