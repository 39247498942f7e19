"""Spans, across processes and hand-offs, without making anyone wait.

Spans come from the OpenTelemetry API and cost next to nothing until `setup` finds that somebody wants them. What lasts
long, such as a leader's term, is no span, since a killed process exports no open one: it is named by the traceparent of
a short span, its anchor, and others link to that.
"""

from __future__ import annotations

import os
import secrets
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from component import logs
from component.clock import SystemClock
from component.lifecycle import Group
from component.tracing import environment
from component.tracing.pipeline import Pipeline
from component.tracing.traceparent import RANDOM, SAMPLED, VARIABLE, Traceparent, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.trace import Tracer
    from opentelemetry.util.types import AttributeValue

    from component.clock import Clock


class _Installed:
    """The process's provider: OpenTelemetry allows one."""

    provider: TracerProvider | None = None
    tracers: ClassVar[dict[str, Tracer]] = {}
    lock = threading.Lock()


class Tracing:
    """Where this process's spans go."""

    def __init__(self, pipelines: Sequence[Pipeline[ReadableSpan]], *, clock: Clock) -> None:
        self._pipelines = pipelines
        self._clock = clock

    @property
    def enabled(self) -> bool:
        """Does anybody want spans?"""
        return bool(self._pipelines)

    @property
    def dropped(self) -> int:
        """Spans that came faster than they could be written or sent."""
        return sum(pipeline.dropped for pipeline in self._pipelines)

    def tracer(self, name: str) -> Tracer:
        """What makes spans under an instrumentation scope; the same as `opentelemetry.trace.get_tracer`."""
        return trace.get_tracer(name)

    def shutdown(self, seconds: float) -> bool:
        """Write and send what is there, for `seconds` at most whatever the collector does; later spans are dropped.

        Returns:
            Whether all of it was taken in time.
        """
        end = self._clock.now() + seconds
        for pipeline in self._pipelines:
            pipeline.request_close()
        for pipeline in self._pipelines:
            self._clock.wait(pipeline.ended, max(end - self._clock.now(), 0.0))
        return all(pipeline.ended.is_set() and not pipeline.failing for pipeline in self._pipelines)


def setup(
    *,
    service: str,
    instance: str,
    trace_file: Path | None = None,
    version: str = "",
    namespace: str = "",
    environ: Mapping[str, str] = os.environ,
    clock: Clock | None = None,
) -> Tracing:
    """Send spans to a file and, if OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, over OTLP.

    The other OTEL_* variables are honoured as OpenTelemetry documents them, OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER
    (`otlp`, `none`) and OTEL_TRACES_SAMPLER among them. Without a file or endpoint nothing is imported or installed.
    The file is written by a thread of its own as each span ends, so it survives SIGKILL; the exporter is imported in
    another such thread.

    Args:
        service: `service.name`, unless OTEL_SERVICE_NAME is set.
        instance: `service.instance.id`: the holder identity.
        trace_file: OTLP JSON is appended to it, one ExportTraceServiceRequest a line.

    Raises:
        OSError: The file can't be written.
    """
    clock = clock or SystemClock()
    over_otlp = environment.otlp_wanted("TRACES", environ)
    if environment.disabled(environ) or not (trace_file or over_otlp):
        return Tracing((), clock=clock)

    from component.tracing import provider as sdk  # noqa: PLC0415 - slow, and only needed from here on
    from component.tracing.resource import resource  # noqa: PLC0415 - the same
    from component.tracing.tracefile import TraceFile  # noqa: PLC0415 - the same

    group = Group("telemetry")
    pipelines: list[Pipeline[ReadableSpan]] = []
    if trace_file:
        file = TraceFile(trace_file)
        pipelines.append(Pipeline("trace-file", lambda: sdk.file_sink(file), group=group))
    if over_otlp:
        linger = environment.linger(environ)
        pipelines.append(Pipeline("trace-otlp", lambda: sdk.otlp_sink(environ), group=group, linger=linger))
    with _Installed.lock:
        if _Installed.provider is None:
            who = resource(service=service, instance=instance, version=version, namespace=namespace)
            _Installed.provider = sdk.provider(who)
            trace.set_tracer_provider(_Installed.provider)
            logs.use_context(_ids_of_current_span)
        for pipeline in pipelines:
            _Installed.provider.add_span_processor(sdk.Feed(pipeline))
    return Tracing(pipelines, clock=clock)


def emit(
    name: str,
    *,
    start: float,
    end: float,
    traceparent: str | None = None,
    parent: str | None = None,
    links: Sequence[tuple[str, Mapping[str, AttributeValue]]] = (),
    attributes: Mapping[str, AttributeValue | None] | None = None,
    error: BaseException | str | None = None,
    kind: SpanKind = SpanKind.INTERNAL,
    scope: str = "lockd",
) -> str | None:
    """Make a span of something that is over; it is recorded whatever the sampler says.

    Args:
        start: Wall time, seconds since 1970.
        end: The same; an end before the start counts as the start.
        traceparent: Gives the span exactly these ids, which were told to others before it was over.
        parent: The traceparent of its parent; made a link if it is of another trace than `traceparent`.
        links: Traceparents with attributes, such as `{"link.kind": "leadership_term"}`; bad ones are left out.
        attributes: Those that are None are left out.
        error: Marks the span as failed.

    Returns:
        The span's traceparent, or None when nobody wants spans.
    """
    if _Installed.provider is None:
        return None
    from component.tracing.provider import forced  # noqa: PLC0415 - imported by `setup` already

    ids = parse(traceparent) if traceparent else None
    above = parse(parent) if parent else None
    linked = [made for text, given in links if (made := link(text, given))]
    if above and ids and above.trace_id != ids.trace_id:
        linked.append(Link(_context(above), {"link.kind": "parent"}))
        above = None
    begin = _nanoseconds(start)
    with forced(ids):
        span = _tracer(scope, _Installed.provider).start_span(
            name,
            context=parent_context(str(above) if above else None),
            kind=kind,
            attributes={key: value for key, value in (attributes or {}).items() if value is not None},
            links=linked,
            start_time=begin,
        )
    if error is not None:
        span.set_status(Status(StatusCode.ERROR, str(error)))
        if isinstance(error, BaseException):
            span.set_attribute("error.type", type(error).__qualname__)
    span.end(max(_nanoseconds(end), begin))
    return _traceparent(span.get_span_context())


def new_traceparent(within: str | None = None) -> str:
    """The name of a span that isn't made yet: hand it to others, and to `emit` when the span is over.

    Args:
        within: A traceparent whose trace it is to belong to; None, or a bad one: a trace of its own.
    """
    span, above = secrets.randbits(64) or 1, parse(within) if within else None
    if above is not None:
        return str(Traceparent(above.trace_id, span, above.flags | SAMPLED))
    return str(Traceparent(secrets.randbits(128) or 1, span, SAMPLED | RANDOM))


def current_traceparent() -> str | None:
    """The span that this thread is in, or None."""
    context = trace.get_current_span().get_span_context()
    return _traceparent(context) if context.is_valid else None


def caller_traceparent(environ: Mapping[str, str] = os.environ) -> str | None:
    """The span that whoever started this process was in, from TRACEPARENT; None when unset or bad."""
    found = parse(environ.get(VARIABLE, ""))
    return str(found) if found else None


def parent_context(traceparent: str | None) -> Context:
    """For `start_span(context=...)`: a child of that span, or a root when it is None or bad."""
    found = parse(traceparent) if traceparent else None
    root = otel_context.Context()
    return set_span_in_context(NonRecordingSpan(_context(found)), root) if found else root


@contextmanager
def attached(traceparent: str | None) -> Iterator[None]:
    """Spans that this thread starts within are children of that span; nothing changes when it is None or bad."""
    if not traceparent or parse(traceparent) is None:
        yield
        return
    token = otel_context.attach(parent_context(traceparent))
    try:
        yield
    finally:
        otel_context.detach(token)


def link(traceparent: str, attributes: Mapping[str, AttributeValue] | None = None) -> Link | None:
    """For `start_span(links=...)`; None when it isn't a traceparent."""
    found = parse(traceparent)
    return Link(_context(found), dict(attributes or {})) if found else None


def _tracer(scope: str, provider: TracerProvider) -> Tracer:
    """Kept, since the SDK takes longer to look one up than to make a span."""
    if scope not in _Installed.tracers:
        _Installed.tracers[scope] = provider.get_tracer(scope)
    return _Installed.tracers[scope]


def _context(found: Traceparent) -> SpanContext:
    return SpanContext(found.trace_id, found.span_id, is_remote=True, trace_flags=TraceFlags(found.flags))


def _traceparent(context: SpanContext) -> str:
    return str(Traceparent(context.trace_id, context.span_id, context.trace_flags))


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e6) * 1000  # a float of this size is good to a microsecond


def _ids_of_current_span() -> Mapping[str, str]:
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
