"""Spans of other processes: taken from whoever called, named for whoever is called."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, TraceFlags, TraceState, set_span_in_context

from component.tracing.traceparent import RANDOM, SAMPLED, Traceparent, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from opentelemetry.context import Context
    from opentelemetry.trace import Span
    from opentelemetry.util.types import AttributeValue

TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"
"""Names of the W3C's fields, in metadata; in an environment they are in capitals."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The span that whoever asked for something was in.

    Attributes:
        traceparent: A good one.
        tracestate: What tracing systems want passed on beside it; only together with the same trace.
    """

    FIELDS: ClassVar = (TRACEPARENT, TRACESTATE)

    traceparent: str
    tracestate: str = ""

    @classmethod
    def of(cls, fields: Iterable[tuple[str, object]]) -> Self | None:
        """Out of the metadata of a call, an environment in small letters, annotations; None when it names no span."""
        given = {name: value for name, value in fields if name in {TRACEPARENT, TRACESTATE} and isinstance(value, str)}
        found = parse(given.get(TRACEPARENT, ""))
        return None if found is None else cls(str(found), given.get(TRACESTATE, ""))

    @property
    def context(self) -> SpanContext:
        """As OpenTelemetry's API has it."""
        found = parse(self.traceparent)
        if found is None:
            raise ValueError(f"{self.traceparent!r} is no traceparent")
        return span_context(found, self.tracestate)


def caller(environ: Mapping[str, str] = os.environ) -> Caller | None:
    """Whoever started this process, by TRACEPARENT and TRACESTATE; None when unset or bad."""
    return Caller.of((name, environ.get(name.upper())) for name in (TRACEPARENT, TRACESTATE))


def outgoing(traceparent: str, within: Caller | None, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """An environment for a process that we start from the span `traceparent`.

    Args:
        within: Whoever called us: its tracestate goes along if the span is of its trace.
    """
    found = {name: value for name, value in environ.items() if name.lower() not in {TRACEPARENT, TRACESTATE}}
    if parse(traceparent) is not None:
        found[TRACEPARENT.upper()] = traceparent
        if within is not None and within.tracestate and _same_trace(within.traceparent, traceparent):
            found[TRACESTATE.upper()] = within.tracestate
    return found


def new_traceparent(within: Caller | str | None = None) -> str:
    """The name of a span that isn't made yet: hand it to others, and to `emit` when the span is over.

    Args:
        within: A span whose trace it is to belong to; None, or a bad traceparent: a trace of its own.
    """
    above = parse(_text(within)) if within else None
    span = secrets.randbits(64) or 1
    if above is not None:
        return str(Traceparent(above.trace_id, span, above.flags | SAMPLED))
    return str(Traceparent(secrets.randbits(128) or 1, span, SAMPLED | RANDOM))


def current_traceparent() -> str | None:
    """The span that this thread is in, or None."""
    context = trace.get_current_span().get_span_context()
    return traceparent_of(context) if context.is_valid else None


def fields_of(span: Span) -> tuple[tuple[str, str], ...]:
    """What goes with a call that is made in a span, as metadata; nothing if that isn't recorded."""
    if not span.is_recording():
        return ()
    context = span.get_span_context()
    named = ((TRACEPARENT, traceparent_of(context)),)
    return (*named, (TRACESTATE, context.trace_state.to_header())) if context.trace_state else named


def parent_context(within: Caller | str | None) -> Context:
    """For `start_span(context=...)`: a child of that span, or a root when it is None or bad."""
    found, root = parse(_text(within)) if within else None, otel_context.Context()
    if found is None:
        return root
    state = within.tracestate if isinstance(within, Caller) else ""
    return set_span_in_context(NonRecordingSpan(span_context(found, state)), root)


@contextmanager
def attached(within: Caller | str | None) -> Iterator[None]:
    """Spans that this thread starts within are children of that span; nothing changes when it is None or bad."""
    if not within or parse(_text(within)) is None:
        yield
        return
    token = otel_context.attach(parent_context(within))
    try:
        yield
    finally:
        otel_context.detach(token)


def link(traceparent: str, attributes: Mapping[str, AttributeValue] | None = None) -> Link | None:
    """For `start_span(links=...)`; None when it isn't a traceparent."""
    found = parse(traceparent)
    return Link(span_context(found), dict(attributes or {})) if found else None


def span_context(found: Traceparent, tracestate: str = "", *, remote: bool = True) -> SpanContext:
    """A span, by default one elsewhere, as OpenTelemetry's API has it."""
    state = TraceState.from_header([tracestate]) if tracestate else None
    return SpanContext(
        found.trace_id, found.span_id, is_remote=remote, trace_flags=TraceFlags(found.flags), trace_state=state
    )


def traceparent_of(context: SpanContext) -> str:
    return str(Traceparent(context.trace_id, context.span_id, context.trace_flags))


def _text(within: Caller | str | None) -> str:
    return within.traceparent if isinstance(within, Caller) else within or ""


def _same_trace(one: str, other: str) -> bool:
    first, second = parse(one), parse(other)
    return first is not None and second is not None and first.trace_id == second.trace_id
