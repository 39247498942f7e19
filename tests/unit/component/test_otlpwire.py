"""Our encoder of OTLP's protobuf says exactly what OpenTelemetry's does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from component.tracing import otlpwire
from component.tracing.finished import Finished
from component.tracing.provider import readable
from component.tracing.traceparent import Traceparent

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
PLAIN = st.one_of(TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.binary())
SEQUENCES = st.one_of(st.lists(TEXTS).map(tuple), st.lists(st.integers(0, 9)), st.lists(st.booleans()).map(tuple))
ATTRIBUTES = st.dictionaries(TEXTS.filter(bool), PLAIN | SEQUENCES, max_size=4)
MOMENTS = st.integers(0, 2**63)
STATES = st.sampled_from((None, TraceState([("vendor", "1"), ("other", "2")])))
CONTEXTS = st.builds(
    lambda trace, span, remote, state: SpanContext(trace, span, remote, TraceFlags(1), state),
    *(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.booleans(), STATES),
)
LINKS = st.builds(lambda trace, span, told: Link(SpanContext(trace, span, is_remote=True), told),
                  *(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), ATTRIBUTES))  # fmt: skip
RESOURCES = st.builds(Resource, ATTRIBUTES, TEXTS)
STATUSES = st.sampled_from(
    (Status(), Status(StatusCode.OK), Status(StatusCode.ERROR), Status(StatusCode.ERROR, "no room"))
)
SPANS = st.builds(
    ReadableSpan,
    name=TEXTS,
    context=CONTEXTS,
    parent=st.none() | CONTEXTS,
    resource=RESOURCES,
    attributes=ATTRIBUTES,
    events=st.lists(st.builds(Event, TEXTS, ATTRIBUTES, MOMENTS), max_size=3).map(tuple),
    links=st.lists(LINKS, max_size=2).map(tuple),
    kind=st.sampled_from(SpanKind),
    status=STATUSES,
    start_time=MOMENTS,
    end_time=MOMENTS,
    instrumentation_scope=st.builds(InstrumentationScope, TEXTS, st.none() | TEXTS, st.none() | TEXTS),
)


NAMED = st.builds(Traceparent, st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.sampled_from((1, 3)))
FINISHED = st.builds(
    Finished,
    name=TEXTS,
    ids=NAMED,
    start=MOMENTS,
    end=MOMENTS,
    attributes=ATTRIBUTES,
    events=st.lists(st.tuples(TEXTS, st.floats(0.0, 4e9), ATTRIBUTES), max_size=3),
    links=st.lists(st.tuples(NAMED, ATTRIBUTES), max_size=2),
    resource=RESOURCES,
    instrumentation_scope=st.builds(InstrumentationScope, TEXTS),
)


@given(st.lists(SPANS | FINISHED, max_size=4))
def test_it_says_what_the_library_says(spans):
    theirs = encode_spans(list(map(readable, spans)))
    assert ExportTraceServiceRequest.FromString(otlpwire.request(spans)) == theirs


@given(SPANS, FINISHED, st.lists(st.booleans(), max_size=5))
def test_spans_of_one_process_and_scope_are_together(one, other, order):
    other = structs.replace(other, resource=one.resource, instrumentation_scope=one.instrumentation_scope)
    spans = [one if first else other for first in order]
    theirs = encode_spans(list(map(readable, spans)))
    assert ExportTraceServiceRequest.FromString(otlpwire.request(spans)) == theirs


def plain(attributes):
    scope, context = InstrumentationScope("s"), SpanContext(1, 1, is_remote=False)
    return ReadableSpan(
        *("x", context),
        resource=Resource({}),
        attributes=attributes,
        instrumentation_scope=scope,
        start_time=1,
        end_time=2,
    )


def test_values_that_are_equal_but_of_other_types_stay_apart():
    values = {"a": 1, "aa": True, "d": (1, 0)}
    others = {"a": True, "aa": 1.0, "d": (True, False)}
    for span in (plain(values), plain(others), plain(values)):
        assert ExportTraceServiceRequest.FromString(otlpwire.request([span])) == encode_spans([span])


def test_what_is_rare_is_left_to_the_library():
    with pytest.raises(otlpwire.Unencodable):
        otlpwire.request([plain({"a": None})])
