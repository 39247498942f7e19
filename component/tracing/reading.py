"""Spans out of OTLP JSON files: one ExportTraceServiceRequest a line, as `TraceFile` writes them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

KINDS: Final = ("unspecified", "internal", "server", "client", "producer", "consumer")
ERROR: Final = 2


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened within a span, at `at` (wall seconds)."""

    name: str
    at: float
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reference:
    """A link to another span: its ids in hex, and what kind of link it is."""

    trace_id: str
    span_id: str
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return str(self.attributes.get("link.kind", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One finished span.

    Attributes:
        start: Wall seconds. Processes of one host read one clock, so their spans can be laid side by side.
        end: Wall seconds.
        instance: The resource's `service.instance.id`: for a replica its identity.
        service: The resource's `service.name`.
        trace_id: Hex.
        span_id: Hex.
        parent: Hex, or "".
        kind: One of KINDS.
        links: The span ids linked to, hex.
        references: The same links with all that they tell.
        error: Why it failed, or "".
    """

    name: str
    start: float
    end: float
    instance: str = ""
    service: str = ""
    trace_id: str = ""
    span_id: str = ""
    parent: str = ""
    kind: str = KINDS[1]
    links: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    events: tuple[Event, ...] = ()
    error: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)

    def linked(self, kind: str) -> tuple[str, ...]:
        """The span ids that it is linked to by links of a kind."""
        return tuple(one.span_id for one in self.references if one.kind == kind)


def read_folder(folder: Path) -> tuple[Span, ...]:
    """Every span of the folder's `*.jsonl` files, by start.

    A line that is no request is passed over: the last one of a killed process may be torn.

    Raises:
        OSError: A file can't be read.
    """
    return read_files(sorted(folder.glob("*.jsonl")))


def read_files(paths: Iterable[Path]) -> tuple[Span, ...]:
    """Every span of some files, by start; as `read_folder`.

    Raises:
        OSError: A file can't be read.
    """
    spans: list[Span] = []
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as lines:
            spans.extend(parse(lines))
    return tuple(sorted(spans, key=lambda span: (span.start, span.end)))


def parse(lines: Iterable[str]) -> Iterator[Span]:
    """The spans of an OTLP JSON-lines file."""
    for line in lines:
        try:
            request = json.loads(line)
            yield from list(request_spans(request))
        except (ValueError, TypeError, KeyError, AttributeError, IndexError):
            continue


def request_spans(request: dict[str, Any]) -> Iterator[Span]:
    """The spans of one ExportTraceServiceRequest.

    Raises:
        ValueError, TypeError, KeyError, AttributeError, IndexError: It is none.
    """
    for resource in request["resourceSpans"]:
        who = _attributes(resource.get("resource", {}))
        for scope in resource.get("scopeSpans", []):
            for span in scope.get("spans", []):
                yield _span(span, who)


def _span(span: dict[str, Any], who: dict[str, Any]) -> Span:
    references = tuple(
        Reference(link.get("traceId", ""), link["spanId"], _attributes(link)) for link in span.get("links", [])
    )
    status = span.get("status", {})
    failed = status.get("code") in {ERROR, "STATUS_CODE_ERROR"}
    return Span(
        name=span["name"],
        start=int(span["startTimeUnixNano"]) / 1e9,
        end=int(span["endTimeUnixNano"]) / 1e9,
        instance=str(who.get("service.instance.id", "")),
        service=str(who.get("service.name", "")),
        trace_id=span.get("traceId", ""),
        span_id=span.get("spanId", ""),
        parent=span.get("parentSpanId", ""),
        kind=_kind(span.get("kind", 1)),
        links=tuple(one.span_id for one in references),
        references=references,
        events=tuple(
            Event(str(event.get("name", "")), int(event.get("timeUnixNano", 0)) / 1e9, _attributes(event))
            for event in span.get("events", [])
        ),
        error=(status.get("message") or "failed") if failed else "",
        attributes=_attributes(span),
    )


def _kind(kind: Any) -> str:
    """A number, or, as other exporters write it, the enumeration's name."""
    return str(kind).removeprefix("SPAN_KIND_").lower() if isinstance(kind, str) else KINDS[kind]


def _attributes(owner: dict[str, Any]) -> dict[str, Any]:
    return {item["key"]: _value(item.get("value", {})) for item in owner.get("attributes", [])}


def _value(value: dict[str, Any]) -> Any:
    """An AnyValue. 64-bit integers are strings in JSON."""
    if "intValue" in value:
        return int(value["intValue"])
    if "arrayValue" in value:
        return [_value(item) for item in value["arrayValue"].get("values", [])]
    return next(iter(value.values()), None)
