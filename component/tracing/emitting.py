"""Spans that are recorded whatever the sampler says: there are few of them, and one that is missing tears a story."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

from component.clock import nanoseconds
from component.tracing.context import Caller, link, parent_context, span_context, traceparent_of
from component.tracing.installed import Installed
from component.tracing.traceparent import parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.trace import Span
    from opentelemetry.util.types import AttributeValue


def emit(
    name: str,
    *,
    start: float,
    end: float,
    traceparent: str | None = None,
    parent: Caller | str | None = None,
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
        parent: Its parent; made a link if it is of another trace than `traceparent`.
        links: Traceparents with attributes, such as `{"link.kind": "leadership_term"}`; bad ones are left out.
        attributes: Those that are None are left out.
        error: Marks the span as failed.

    Returns:
        The span's traceparent, or None when nobody wants spans.
    """
    if Installed.provider is None:
        return None
    from component.tracing.provider import forced  # noqa: PLC0415 - imported by `setup` already

    ids = parse(traceparent) if traceparent else None
    above = parse(parent.traceparent if isinstance(parent, Caller) else parent) if parent else None
    linked = [made for text, given in links if (made := link(text, given))]
    if above and ids and above.trace_id != ids.trace_id:
        linked.append(Link(span_context(above), {"link.kind": "parent"}))
        above = None
    begin = nanoseconds(start)
    with forced(ids):
        span = Installed.tracer(scope, Installed.provider).start_span(
            name,
            context=parent_context(parent if above else None),
            kind=kind,
            attributes={key: value for key, value in (attributes or {}).items() if value is not None},
            links=linked,
            start_time=begin,
        )
    if error is not None:
        span.set_status(Status(StatusCode.ERROR, str(error)))
        if isinstance(error, BaseException):
            span.set_attribute("error.type", type(error).__qualname__)
    span.end(max(nanoseconds(end), begin))
    return traceparent_of(span.get_span_context())


def begin(
    name: str,
    *,
    links: Sequence[Link] = (),
    attributes: Mapping[str, AttributeValue] | None = None,
) -> Span:
    """Start a span that is recorded whatever the sampler says, as a root; whoever starts it ends it.

    It takes attributes, and nothing else that spans may have, so that it costs little. Nobody wants spans: one that
    records nothing.
    """
    if Installed.provider is None:
        return trace.INVALID_SPAN
    from component.tracing.light import Light  # noqa: PLC0415 - imported by `setup` already

    return Light(name, links, dict(attributes or {}))
