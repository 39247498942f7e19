"""Finished spans as OTLP's protobuf, in bytes.

OpenTelemetry's exporter makes a message object of each attribute, which costs several times what scheduling a pod does.
Here an attribute that came before is bytes already, and the rest is put together. A test holds this to the exporter's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from component.clock import nanoseconds
from component.tracing.finished import Finished, grouped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import Link, SpanContext

    from component.tracing.finished import Over
    from component.tracing.traceparent import Traceparent

HAS_IS_REMOTE: Final = 0x100
IS_REMOTE: Final = 0x200

_FIXED64: Final = Struct("<Q").pack
_FIXED32: Final = Struct("<I").pack
_DOUBLE: Final = Struct("<d").pack
_SIXTY_FOUR: Final = (1 << 64) - 1
_UNSET: Final = b"\x7a\x00\x85\x01" + _FIXED32(HAS_IS_REMOTE)
"""No status, and no parent."""

_ELSEWHERE: Final = b"\x35" + _FIXED32(HAS_IS_REMOTE | IS_REMOTE)


class Unencodable(Exception):
    """An attribute's value is of a kind that is rare: let the library do it."""


def request(spans: Sequence[Over]) -> bytes:
    """An ExportTraceServiceRequest that holds `spans`, grouped by resource and scope.

    Raises:
        Unencodable: An attribute is neither text, number, truth, bytes, nor a sequence of such.
    """
    return b"".join(
        _field(
            0x0A,
            _field(0x0A, _attributes(0x0A, resource.attributes))
            + b"".join([_field(0x12, _scope(scope, inside)) for scope, inside in scopes.items()])
            + _text(0x1A, resource.schema_url),
        )
        for resource, scopes in grouped(spans).items()
    )


def _scope(scope: Any, spans: Sequence[Over]) -> bytes:
    named = _text(0x0A, scope.name) + _text(0x12, scope.version) + _attributes(0x1A, scope.attributes)
    encoded = [_field(0x12, _finished(each) if isinstance(each, Finished) else _span(each)) for each in spans]
    return b"".join((_field(0x0A, named), _text(0x1A, scope.schema_url), *encoded))


def _span(span: ReadableSpan) -> bytes:
    context, parent = span.context, span.parent
    parts = [
        b"\x0a\x10" + context.trace_id.to_bytes(16) + b"\x12\x08" + context.span_id.to_bytes(8),
        _text(0x1A, context.trace_state.to_header()) if context.trace_state else b"",
        b"\x22\x08" + parent.span_id.to_bytes(8) if parent else b"",
        _text(0x2A, span.name),
        b"\x30" + _varint(span.kind.value + 1),
        b"\x39" + _FIXED64(span.start_time or 0) + b"\x41" + _FIXED64(span.end_time or 0),
        _attributes(0x4A, span.attributes),
        _count(0x50, span.dropped_attributes),
        *[_field(0x5A, _event(event)) for event in span.events],
        _count(0x60, span.dropped_events),
        *[_field(0x6A, _link(link)) for link in span.links],
        _count(0x70, span.dropped_links),
        _field(0x7A, _text(0x12, span.status.description) + _count(0x18, span.status.status_code.value)),
        b"\x85\x01" + _FIXED32(_flags(parent)),
    ]
    return b"".join(parts)


def _finished(span: Finished) -> bytes:
    parts = [
        _ids(span.ids) + _name(0x2A, span.name),
        b"\x30\x01\x39" + _FIXED64(span.start) + b"\x41" + _FIXED64(span.end),
        _attributes(0x4A, span.attributes),
    ]
    for name, at, told in span.events:
        content = b"\x09%b%b%b" % (_FIXED64(nanoseconds(at)), _name(0x12, name), _attributes(0x1A, told))
        parts.append(_field(0x5A, content))
    for ids, told in span.links:
        parts.append(_field(0x6A, _ids(ids) + _attributes(0x22, told) + _ELSEWHERE))
    parts.append(_UNSET)
    return b"".join(parts)


def _ids(ids: Traceparent) -> bytes:
    return b"\x0a\x10" + ids.trace_id.to_bytes(16) + b"\x12\x08" + ids.span_id.to_bytes(8)


@lru_cache(maxsize=256)
def _name(tag: int, name: str) -> bytes:
    """Of a span, an event, an attribute: there are few."""
    return _text(tag, name)


def _event(event: Event) -> bytes:
    head = b"\x09" + _FIXED64(event.timestamp) + _text(0x12, event.name)
    return head + _attributes(0x1A, event.attributes) + _count(0x20, event.dropped_attributes)


def _link(link: Link) -> bytes:
    context = link.context
    return b"".join(
        (
            b"\x0a\x10" + context.trace_id.to_bytes(16) + b"\x12\x08" + context.span_id.to_bytes(8),
            _attributes(0x22, link.attributes),
            _count(0x28, link.dropped_attributes),
            b"\x35" + _FIXED32(_flags(context)),
        )
    )


def _flags(context: SpanContext | None) -> int:
    return HAS_IS_REMOTE | (IS_REMOTE if context and context.is_remote else 0)


def _attributes(tag: int, attributes: Mapping[str, Any] | None) -> bytes:
    if not attributes:
        return b""
    return b"".join([_attribute(tag, key, value) for key, value in attributes.items()])


def _attribute(tag: int, key: str, value: Any) -> bytes:
    if type(value) is str:  # most are, and few come again
        text = value.encode(errors="replace")
        head, size = _name(0x0A, key), len(text)
        whole = len(head) + size + 4
        if whole < 0x80:
            return b"%c%c%b\x12%c\x0a%c%b" % (tag, whole, head, size + 2, size, text)
    if isinstance(value, list | tuple):
        return _seen(tag, key, tuple(value), tuple(map(type, value)))
    return _seen(tag, key, value)


@lru_cache(maxsize=4096, typed=True)
def _seen(tag: int, key: str, value: Any, _types: tuple[type, ...] = ()) -> bytes:
    """Types tell apart what is equal: 1 and True; the cache looks at them itself, but not within a tuple."""
    return _field(tag, _text(0x0A, key) + _field(0x12, _value(value)))


def _value(value: object) -> bytes:
    match value:
        case str():
            return _text(0x0A, value, always=True)
        case bool():
            return b"\x10\x01" if value else b"\x10\x00"
        case int():
            return b"\x18" + _varint(value & _SIXTY_FOUR)
        case float():
            return b"\x21" + _DOUBLE(value)
        case bytes():
            return _field(0x3A, value)
        case Sequence():
            return _field(0x2A, b"".join([_field(0x0A, _value(each)) for each in value]))
    raise Unencodable(type(value).__name__)


def _text(tag: int, text: str | None, *, always: bool = False) -> bytes:
    return _field(tag, text.encode(errors="replace")) if text or (always and text is not None) else b""


def _count(tag: int, number: int) -> bytes:
    return bytes((tag,)) + _varint(number) if number else b""


def _field(tag: int, content: bytes) -> bytes:
    size = len(content)
    return bytes((tag, size)) + content if size < 0x80 else bytes((tag,)) + _varint(size) + content


def _varint(number: int) -> bytes:
    if number < 0x80:
        return bytes((number,))
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
