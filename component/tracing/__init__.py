"""Spans, across processes and hand-offs, without making anyone wait.

Spans come from the OpenTelemetry API and cost next to nothing until `setup` finds that somebody wants them. What lasts
long, such as a leader's term, is no span, since a killed process exports no open one: it is named by the traceparent of
a short span, its anchor, and others link to that.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from opentelemetry import trace

from component import logs
from component.clock import SystemClock
from component.lifecycle import Group
from component.tracing import environment
from component.tracing.context import (
    Caller,
    attached,
    caller,
    current_traceparent,
    fields_of,
    link,
    new_traceparent,
    outgoing,
    parent_context,
)
from component.tracing.emitting import begin, emit
from component.tracing.installed import Installed
from component.tracing.pipeline import Pipeline
from component.tracing.story import Stories, Story

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from opentelemetry.trace import Tracer

    from component.clock import Clock
    from component.tracing.finished import Over

__all__ = [
    "Caller",
    "Stories",
    "Story",
    "Tracing",
    "attached",
    "begin",
    "caller",
    "current_traceparent",
    "emit",
    "fields_of",
    "link",
    "losses",
    "new_traceparent",
    "outgoing",
    "parent_context",
    "setup",
]


class Tracing:
    """Where this process's spans go."""

    def __init__(self, pipelines: Sequence[Pipeline[Over]], *, clock: Clock) -> None:
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
    pipelines: list[Pipeline[Over]] = []
    if trace_file:
        file = TraceFile(trace_file)
        pipelines.append(Pipeline("trace-file", lambda: sdk.file_sink(file), group=group))
    if over_otlp:
        linger = environment.linger(environ)
        pipelines.append(Pipeline("trace-otlp", lambda: sdk.otlp_sink(environ), group=group, linger=linger))
    with Installed.lock:
        if Installed.provider is None:
            who = resource(service=service, instance=instance, version=version, namespace=namespace)
            Installed.sampler_chosen = bool(environ.get("OTEL_TRACES_SAMPLER", "").strip())
            Installed.share = environment.share(environ)
            Installed.provider = sdk.provider(who)
            trace.set_tracer_provider(Installed.provider)
            logs.use_context(_ids_of_current_span)
        for feed in map(sdk.Feed, pipelines):
            Installed.takers += (feed,)
            Installed.provider.add_span_processor(feed)
        Installed.pipelines += tuple(pipelines)
    return Tracing(pipelines, clock=clock)


def losses() -> Mapping[str, int]:
    """How many spans were lost so far, by pipeline: found no room, or were not taken at the other end."""
    return {pipeline.name: pipeline.dropped + pipeline.failed for pipeline in Installed.pipelines}


def _ids_of_current_span() -> Mapping[str, str]:
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
