"""Finished spans as OTLP in JSON.

The SDK's exporters encode to protobuf, which JSON would then be made from: ten times the work, in threads that share
the interpreter with an election, and an import of a tenth of a second before the first span is safe. A test holds this
encoder to theirs.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from component.clock import nanoseconds
from component.tracing.finished import Finished, grouped

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import Link, SpanContext

    from component.tracing.finished import Over
    from component.tracing.traceparent import Traceparent

Json = dict[str, Any]

_HAS_IS_REMOTE = 0x100
_IS_REMOTE = 0x200


def request(spans: Sequence[Over]) -> Json:
    """An ExportTraceServiceRequest that holds `spans`, grouped by resource and scope."""
    return {
        "resourceSpans": [
            _filled(
                resource={"attributes": attributes(resource.attributes)},
                scopeSpans=[
                    _filled(
                        scope=_filled(name=scope.name, version=scope.version, attributes=attributes(scope.attributes)),
                        spans=[_finished(each) if isinstance(each, Finished) else _span(each) for each in inside],
                        schemaUrl=scope.schema_url,
                    )
                    for scope, inside in scopes.items()
                ],
                schemaUrl=resource.schema_url,
            )
            for resource, scopes in grouped(spans).items()
        ]
    }


def _span(span: ReadableSpan) -> Json:
    context = span.context
    code = span.status.status_code.value
    return {
        "traceId": f"{context.trace_id:032x}",
        "spanId": f"{context.span_id:016x}",
        "name": span.name,
        "kind": span.kind.value + 1,
        "startTimeUnixNano": str(span.start_time),
        "endTimeUnixNano": str(span.end_time),
        "flags": _flags(span.parent),
        "status": _filled(message=span.status.description, code=code),
        **_filled(
            traceState=",".join(f"{key}={value}" for key, value in context.trace_state.items()),
            parentSpanId=f"{span.parent.span_id:016x}" if span.parent else "",
            attributes=attributes(span.attributes),
            events=[_event(event) for event in span.events],
            links=[_link(link) for link in span.links],
            droppedAttributesCount=span.dropped_attributes,
            droppedEventsCount=span.dropped_events,
            droppedLinksCount=span.dropped_links,
        ),
    }


def _finished(span: Finished) -> Json:
    encoded: Json = {
        **_ids(span.ids),
        "name": span.name,
        "kind": 1,
        "startTimeUnixNano": str(span.start),
        "endTimeUnixNano": str(span.end),
        "flags": _HAS_IS_REMOTE,
        "status": {},
    }
    if span.attributes:
        encoded["attributes"] = attributes(span.attributes)
    if span.events:
        encoded["events"] = [
            {"timeUnixNano": str(nanoseconds(at)), "name": name, "attributes": attributes(told)}
            if told
            else {"timeUnixNano": str(nanoseconds(at)), "name": name}
            for name, at, told in span.events
        ]
    if span.links:
        encoded["links"] = [
            {**_ids(ids), "flags": _HAS_IS_REMOTE | _IS_REMOTE, **_filled(attributes=attributes(told))}
            for ids, told in span.links
        ]
    return encoded


def _ids(ids: Traceparent) -> Json:
    return {"traceId": f"{ids.trace_id:032x}", "spanId": f"{ids.span_id:016x}"}


def _event(event: Event) -> Json:
    return {
        "timeUnixNano": str(event.timestamp),
        "name": event.name,
        **_filled(attributes=attributes(event.attributes), droppedAttributesCount=event.dropped_attributes),
    }


def _link(link: Link) -> Json:
    return {
        "traceId": f"{link.context.trace_id:032x}",
        "spanId": f"{link.context.span_id:016x}",
        "flags": _flags(link.context),
        **_filled(attributes=attributes(link.attributes), droppedAttributesCount=link.dropped_attributes),
    }


def _flags(context: SpanContext | None) -> int:
    return _HAS_IS_REMOTE | (_IS_REMOTE if context and context.is_remote else 0)


def attributes(named: Mapping[str, Any] | None) -> list[Json]:
    """Attributes, each a key and a value that tells its type."""
    return [{"key": key, "value": _value(value)} for key, value in (named or {}).items()]


def _value(value: object) -> Json:
    match value:
        case None:
            return {}
        case str():
            return {"stringValue": value}
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value if abs(value) < float("inf") else _unreal(value)}
        case bytes():
            return {"bytesValue": base64.b64encode(value).decode()}
        case Mapping():
            return {"kvlistValue": _filled(values=attributes(value))}
        case Sequence():
            return {"arrayValue": _filled(values=[_value(item) for item in value])}
        case _:
            return {"stringValue": str(value)}


def _unreal(value: float) -> str:
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"  # noqa: PLR0124 - what NaN is


def _filled(**fields: object) -> Json:
    """Only the fields that hold something, as protobuf's JSON has it."""
    return {key: value for key, value in fields.items() if value}
