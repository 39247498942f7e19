"""The OpenTelemetry SDK's side of tracing: imported by `setup` alone, since that takes a while."""

from __future__ import annotations

import random
import secrets
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, TraceFlags

from component.tracing import environment
from component.tracing.exporter import quieted
from component.tracing.installed import Installed
from component.tracing.pipeline import Sink

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opentelemetry.context import Context
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.trace import Link, SpanKind, TraceState
    from opentelemetry.util.types import Attributes, AttributeValue

    from component.tracing.pipeline import Pipeline
    from component.tracing.tracefile import TraceFile
    from component.tracing.traceparent import Traceparent


class ExportRefused(Exception):
    """The collector took none of a batch; says why."""


class _Forced(threading.local):
    """The span that this thread is about to start is recorded whatever the sampler says, with these ids if given."""

    active = False
    ids: Traceparent | None = None


_forced = _Forced()


@contextmanager
def forced(ids: Traceparent | None) -> Iterator[None]:
    """Record the span started within, under the ids given; a parent's trace id comes before theirs."""
    _forced.active, _forced.ids = True, ids
    try:
        yield
    finally:
        _forced.active, _forced.ids = False, None


class Ids(IdGenerator):
    """Random ids, which no seed of `random` repeats, but for a span that was named beforehand."""

    def generate_trace_id(self) -> int:
        return _forced.ids.trace_id if _forced.ids else random_id(128)

    def generate_span_id(self) -> int:
        return _forced.ids.span_id if _forced.ids else random_id(64)

    def is_trace_id_random(self) -> bool:
        return True


class ForcingSampler(Sampler):
    """Another sampler's choice, but for spans that must be recorded."""

    def __init__(self, otherwise: Sampler) -> None:
        self._otherwise = otherwise

    def should_sample(  # noqa: PLR0917 - the signature is the SDK's
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        if _forced.active:
            above = trace.get_current_span(parent_context).get_span_context()
            state = above.trace_state if above.is_valid else trace_state
            return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes, state)
        return self._otherwise.should_sample(parent_context, trace_id, name, kind, attributes, links, trace_state)

    def get_description(self) -> str:
        return f"Forcing({self._otherwise.get_description()})"


class Feed(SpanProcessor):
    """Puts each span that ends into a pipeline."""

    def __init__(self, pipeline: Pipeline[ReadableSpan]) -> None:
        self._pipeline = pipeline

    def on_end(self, span: ReadableSpan) -> None:
        if span.context.trace_flags.sampled:
            self._pipeline.put(span)


def finished(
    name: str,
    ids: Traceparent,
    *,
    start: int,
    end: int,
    attributes: Mapping[str, AttributeValue],
    events: Sequence[tuple[str, int, Mapping[str, AttributeValue]]],
    links: Sequence[Link],
) -> None:
    """Hand a root span to the pipelines whole: a span of the SDK's, which could still change, costs several times that.

    Args:
        start: Nanoseconds since 1970, as are `end` and the second item of each event.
    """
    if Installed.provider is None:
        return
    span = ReadableSpan(
        name,
        context=SpanContext(ids.trace_id, ids.span_id, is_remote=False, trace_flags=TraceFlags(ids.flags)),
        resource=Installed.provider.resource,
        attributes=attributes,
        events=[Event(event, told, at) for event, at, told in events],
        links=links,
        start_time=start,
        end_time=end,
        instrumentation_scope=_SCOPE,
    )
    for taker in Installed.takers:
        taker.on_end(span)


_SCOPE = InstrumentationScope("lockd")


def provider(who: Resource) -> TracerProvider:
    """A provider without pipelines; sampler and limits come from the environment."""
    made = TracerProvider(resource=who, id_generator=Ids(), shutdown_on_exit=False)
    made.sampler = ForcingSampler(made.sampler)
    return made


def file_sink(file: TraceFile) -> Sink[ReadableSpan]:
    return Sink(file.append, file.close)


def otlp_sink(environ: Mapping[str, str]) -> Sink[ReadableSpan]:
    """An exporter over gRPC, set up by the environment; takes a while to import."""
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - slow
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415 - slow
        ExportTraceServiceRequest,
    )
    from opentelemetry.sdk.trace.export import SpanExportResult  # noqa: PLC0415 - slow

    from component.tracing import otlpwire  # noqa: PLC0415 - with it

    class Exporter(OTLPSpanExporter):
        """Encodes spans our own way, as far as that goes."""

        def _translate_data(self, data: Sequence[ReadableSpan]) -> ExportTraceServiceRequest:
            try:
                return ExportTraceServiceRequest.FromString(otlpwire.request(data))
            except otlpwire.Unencodable:
                return super()._translate_data(data)

    reasons = quieted()
    exporter = Exporter(timeout=environment.export_timeout("TRACES", environ))

    def take(spans: Sequence[ReadableSpan]) -> None:
        if exporter.export(spans) is not SpanExportResult.SUCCESS:
            raise ExportRefused(reasons.last)

    return Sink(take, exporter.shutdown)


_ids = random.Random(secrets.randbits(256))  # noqa: S311 - unique is enough, nobody has to be kept from guessing
"""Seeded by the system once: each system call lets another thread have the interpreter, and a span needs two."""


def random_id(bits: int) -> int:
    return _ids.getrandbits(bits) or 1
