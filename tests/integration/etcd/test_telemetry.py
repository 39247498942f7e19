"""Spans and durations of calls, as the OpenTelemetry SDK receives them."""

from __future__ import annotations

import queue

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from lockd.errors import Rejected, Unavailable
from lockd.etcd import telemetry
from lockd.etcd.connection import Connection
from lockd.etcd.loopback import free_ports
from lockd.ports import Compare, Field, Put, Txn
from tests.harness.etcd import opened

pytestmark = pytest.mark.etcd


@pytest.fixture
def spans(monkeypatch):
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_tracer", provider.get_tracer("test"))
    return exporter.get_finished_spans


@pytest.fixture
def durations(monkeypatch):
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader], shutdown_on_exit=False).get_meter("test")
    monkeypatch.setattr(telemetry, "_durations", meter.create_histogram("test"))

    def read():
        (resource,) = reader.get_metrics_data().resource_metrics
        points = resource.scope_metrics[0].metrics[0].data.data_points
        return {(point.attributes["operation"], point.attributes["outcome"]): point.count for point in points}

    return read


def test_a_call_is_a_span(gateway, prefix, spans):
    create = Txn((Compare(prefix, Field.MOD, 0),), (Put(prefix, b""),))
    first = gateway.txn(create, timeout=5.0)
    gateway.txn(create, timeout=5.0)
    gateway.range(prefix, timeout=5.0)
    txn, again, read = spans()
    host, _, port = gateway.connection.endpoints[0].rpartition(":")
    assert (txn.name, txn.kind, txn.status.status_code) == ("etcdserverpb.KV/Txn", SpanKind.CLIENT, StatusCode.UNSET)
    assert dict(txn.attributes) == {
        "rpc.system.name": "grpc",
        "rpc.method": "etcdserverpb.KV/Txn",
        "rpc.response.status_code": "OK",
        "server.address": host,
        "server.port": int(port),
        "etcd.revision": first.revision,
        "etcd.txn.succeeded": True,
        "etcd.member_id": f"{gateway.status(gateway.connection.endpoints[0], timeout=5.0).member_id:x}",
        "etcd.raft_term": txn.attributes["etcd.raft_term"],
    }
    assert again.attributes["etcd.txn.succeeded"] is False
    assert read.name == "etcdserverpb.KV/Range"


def test_what_fails_says_how(gateway, prefix, spans, durations):
    with pytest.raises(Rejected):
        gateway.txn(Txn((), (Put(prefix, b""), Put(prefix, b""))), timeout=5.0)
    (port,) = free_ports(1)
    replies = queue.SimpleQueue()
    with opened(Connection(endpoints=(f"127.0.0.1:{port}",))) as nowhere:
        nowhere.send(Txn((), (Put(prefix, b""),)), replies.put, timeout=5.0)
        assert isinstance(replies.get(timeout=5.0), Unavailable)
    refused, lost = spans()
    assert refused.attributes["error.type"] == refused.attributes["rpc.response.status_code"] == "INVALID_ARGUMENT"
    assert (lost.attributes["error.type"], lost.status.status_code) == ("UNAVAILABLE", StatusCode.ERROR)
    gateway.range(prefix, timeout=5.0)
    assert durations() == {("KV/Txn", "rejected"): 1, ("KV/Txn", "unavailable"): 1, ("KV/Range", "ok"): 1}
