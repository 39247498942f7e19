"""The OpenTelemetry SDK's side of tracing: imported by `setup` alone, since that takes a while."""

from __future__ import annotations

import random
import secrets
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from opentelemetry import trace
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link

from component.clock import nanoseconds
from component.tracing import environment
from component.tracing.context import span_context
from component.tracing.exporter import quieted
from component.tracing.finished import Finished
from component.tracing.installed import Installed
from component.tracing.pipeline import Sink

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opentelemetry.context import Context
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.trace import SpanKind, TraceState
    from opentelemetry.util.types import Attributes, AttributeValue

    from component.tracing.finished import Over
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

    def __init__(self, pipeline: Pipeline[Over]) -> None:
        self._pipeline = pipeline

    def on_end(self, span: ReadableSpan) -> None:
        if span.context.trace_flags.sampled:
            self._pipeline.put(span)

    def take(self, span: Finished) -> None:
        """One that is made without the provider's help."""
        self._pipeline.put(span)


def finished(
    name: str,
    ids: Traceparent,
    *,
    start: int,
    end: int,
    attributes: Mapping[str, AttributeValue],
    events: Sequence[tuple[str, float, Mapping[str, AttributeValue]]],
    links: Sequence[tuple[Traceparent, Mapping[str, AttributeValue]]],
) -> None:
    """Hand a root span to the pipelines whole; nothing of it is changed any more.

    Args:
        start: Nanoseconds since 1970, as is `end`.
        events: Name, moment in seconds since 1970, and attributes of each.
        links: To spans elsewhere, with attributes.
    """
    if Installed.provider is None:
        return
    resource = Installed.provider.resource
    span = Finished(name, ids, start, end, attributes, events, links, resource, _SCOPE)
    for taker in Installed.takers:
        taker.take(span)


_SCOPE = InstrumentationScope("lockd")


def provider(who: Resource) -> TracerProvider:
    """A provider without pipelines; sampler and limits come from the environment."""
    made = TracerProvider(resource=who, id_generator=Ids(), shutdown_on_exit=False)
    made.sampler = ForcingSampler(made.sampler)
    return made


def readable(span: Over) -> ReadableSpan:
    """What the SDK would have made of it."""
    if not isinstance(span, Finished):
        return span
    return ReadableSpan(
        span.name,
        context=span_context(span.ids, remote=False),
        resource=span.resource,
        attributes=span.attributes,
        events=[Event(name, told, nanoseconds(at)) for name, at, told in span.events],
        links=[Link(span_context(ids), told) for ids, told in span.links],
        start_time=span.start,
        end_time=span.end,
        instrumentation_scope=span.instrumentation_scope,
    )


def file_sink(file: TraceFile) -> Sink[Over]:
    return Sink(file.append, file.close)


def otlp_sink(environ: Mapping[str, str]) -> Sink[Over]:
    """An exporter over gRPC, set up by the environment; takes a while to import."""
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - slow
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415 - slow
        ExportTraceServiceRequest,
    )
    from opentelemetry.sdk.trace.export import SpanExportResult  # noqa: PLC0415 - slow

    from component.tracing import otlpwire  # noqa: PLC0415 - with it

    class Exporter(OTLPSpanExporter):
        """Encodes spans our own way, as far as that goes."""

        def export(self, spans: Sequence[Over]) -> SpanExportResult:
            return super().export(cast("Sequence[ReadableSpan]", spans))  # which only `_translate_data` looks at

        def _translate_data(self, data: Sequence[Over]) -> ExportTraceServiceRequest:
            try:
                return ExportTraceServiceRequest.FromString(otlpwire.request(data))
            except otlpwire.Unencodable:
                return super()._translate_data(list(map(readable, data)))

    reasons = quieted()
    exporter = Exporter(timeout=environment.export_timeout("TRACES", environ))

    def take(spans: Sequence[Over]) -> None:
        if exporter.export(spans) is not SpanExportResult.SUCCESS:
            raise ExportRefused(reasons.last)

    return Sink(take, exporter.shutdown)


_ids = random.Random(secrets.randbits(256))  # noqa: S311 - unique is enough, nobody has to be kept from guessing
"""Seeded by the system once: each system call lets another thread have the interpreter, and a span needs two."""


def random_id(bits: int) -> int:
    return _ids.getrandbits(bits) or 1
