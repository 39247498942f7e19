"""Held to the encoder of OpenTelemetry's own exporters."""

from __future__ import annotations

import base64
import json

from google.protobuf import json_format
from msgspec import structs
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceState

from component.tracing import otlpjson
from component.tracing.finished import Finished
from component.tracing.provider import readable
from component.tracing.traceparent import Traceparent

IDS = {"traceId", "spanId", "parentSpanId"}


def theirs(spans):
    """Their protobuf as JSON, with ids in hexadecimal and enums as numbers, as OTLP's JSON has them."""

    def hexed(value):
        if isinstance(value, list):
            return [hexed(item) for item in value]
        if isinstance(value, dict):
            return {key: base64.b64decode(inner).hex() if key in IDS else hexed(inner) for key, inner in value.items()}
        return value

    return hexed(json_format.MessageToDict(encode_spans(spans), use_integers_for_enums=True))


def some_spans():
    kept = InMemorySpanExporter()
    limits = SpanLimits(max_attributes=12, max_events=2, max_links=2)
    provider = TracerProvider(resource=Resource({"service.name": "s", "n": 1}), span_limits=limits)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    one = provider.get_tracer("one", "1.0", schema_url="https://example.org/schema")
    two = provider.get_tracer("two")
    state = TraceState([("k", "v"), ("k2", "v2")])
    remote = SpanContext(2**127 + 1, 3, is_remote=True, trace_flags=trace.TraceFlags(3), trace_state=state)
    above = trace.set_span_in_context(trace.NonRecordingSpan(remote))
    values = {
        "text": "ü\n",
        "yes": True,
        "no": False,
        "zero": 0,
        "big": 2**62,
        "half": 0.5,
        "texts": ("a", "b"),
        "none": (),
        "empty": "",
        "bytes": b"\x00\xff",
        "nan": float("nan"),
        "less": float("-inf"),
    }
    with one.start_as_current_span("outer", attributes=values, kind=SpanKind.CLIENT, context=above) as span:
        for number in range(3):
            span.add_event(f"event {number}", {"number": number})
        with two.start_as_current_span("inner", links=[Link(remote, {"link.kind": "term"})] * 3):
            pass
        span.set_status(Status(StatusCode.ERROR, "went wrong"))
    with two.start_as_current_span("many", attributes={str(number): number for number in range(20)}) as span:
        span.set_status(Status(StatusCode.OK))
    for kind in SpanKind:
        two.start_span("kind", kind=kind).end()
    return kept.get_finished_spans()


def test_says_what_their_exporter_says():
    spans = some_spans()
    assert len(spans) == 8
    assert without_defaults(otlpjson.request(spans)) == without_defaults(theirs(spans))


def test_says_what_it_would_of_a_span_that_is_told_otherwise():
    term = Traceparent(2**127 + 1, 3, 3)
    told = {"text": "ü", "yes": True, "some": ("a", "b")}
    whole = Finished(
        *("story", Traceparent(5, 6, 3), 10**18, 10**18 + 5, told),
        events=[("queued", 1.0e9, {}), ("placed", 1.0e9 + 0.25, told)],
        links=[(term, {"link.kind": "term"}), (term, {})],
        resource=Resource({"service.name": "s"}),
        instrumentation_scope=InstrumentationScope("lockd"),
    )
    bare = structs.replace(whole, attributes={}, events=(), links=())
    spans = [whole, *some_spans(), bare]
    assert without_defaults(otlpjson.request(spans)) == without_defaults(theirs(list(map(readable, spans))))


def without_defaults(value):
    """What is absent and what is 0 or empty mean the same in protobuf's JSON, except as the value of an attribute."""
    if isinstance(value, list):
        return [without_defaults(item) for item in value]
    if isinstance(value, dict):
        found = {key: without_defaults(inner) for key, inner in value.items()}
        return {key: inner for key, inner in found.items() if key.endswith("Value") or inner not in (0, "", [], {})}
    return value


def test_their_reader_reads_it():
    line = json.loads(json.dumps(otlpjson.request(some_spans())))

    def based(value):
        if isinstance(value, list):
            return [based(item) for item in value]
        if isinstance(value, dict):
            return {
                key: base64.b64encode(bytes.fromhex(inner)).decode() if key in IDS else based(inner)
                for key, inner in value.items()
            }
        return value

    read = json_format.ParseDict(based(line), ExportTraceServiceRequest())
    assert [span.name for scope in read.resource_spans[0].scope_spans for span in scope.spans].count("kind") == 5
