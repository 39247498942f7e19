"""Spans out of OTLP JSON files: one ExportTraceServiceRequest a line, as the replicas write them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One finished span.

    Attributes:
        start: Wall seconds. Processes of one host read one clock, so their spans can be laid side by side.
        end: Wall seconds.
        instance: The resource's `service.instance.id`: for a replica its identity.
        span_id: Hex.
        parent: Hex, or "".
        links: The span ids linked to, hex.
    """

    name: str
    start: float
    end: float
    instance: str = ""
    span_id: str = ""
    parent: str = ""
    links: tuple[str, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)


def read_folder(folder: Path) -> tuple[Span, ...]:
    """Every span of the folder's `*.jsonl` files, by start.

    A line that is no request is passed over: the last one of a killed process may be torn.

    Raises:
        OSError: A file can't be read.
    """
    spans: list[Span] = []
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as lines:
            spans.extend(parse(lines))
    return tuple(sorted(spans, key=lambda span: (span.start, span.end)))


def parse(lines: Iterable[str]) -> Iterator[Span]:
    """The spans of an OTLP JSON-lines file."""
    for line in lines:
        try:
            request = json.loads(line)
            yield from list(_request(request))
        except (ValueError, TypeError, KeyError, AttributeError):
            continue


def _request(request: dict[str, Any]) -> Iterator[Span]:
    for resource in request["resourceSpans"]:
        instance = _attributes(resource.get("resource", {})).get("service.instance.id", "")
        for scope in resource.get("scopeSpans", []):
            for span in scope.get("spans", []):
                yield Span(
                    name=span["name"],
                    start=int(span["startTimeUnixNano"]) / 1e9,
                    end=int(span["endTimeUnixNano"]) / 1e9,
                    instance=str(instance),
                    span_id=span.get("spanId", ""),
                    parent=span.get("parentSpanId", ""),
                    links=tuple(link["spanId"] for link in span.get("links", [])),
                    attributes=_attributes(span),
                )


def _attributes(owner: dict[str, Any]) -> dict[str, Any]:
    return {item["key"]: _value(item.get("value", {})) for item in owner.get("attributes", [])}


def _value(value: dict[str, Any]) -> Any:
    """An AnyValue. 64-bit integers are strings in JSON."""
    if "intValue" in value:
        return int(value["intValue"])
    if "arrayValue" in value:
        return [_value(item) for item in value["arrayValue"].get("values", [])]
    return next(iter(value.values()), None)
