"""Root spans that are over, as they were told: the SDK's would hold an object for each event, attribute and link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from component.tracing.traceparent import Traceparent

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan


class Finished(msgspec.Struct, gc=False, eq=False):
    """One of them; it is recorded.

    Attributes:
        start: Nanoseconds since 1970, as is `end`.
        events: Name, moment in seconds since 1970, and attributes of each.
        links: To spans elsewhere, with attributes.
        resource, instrumentation_scope: The SDK's.
    """

    name: str
    ids: Traceparent
    start: int
    end: int
    attributes: Mapping[str, Any]
    events: Sequence[tuple[str, float, Mapping[str, Any]]]
    links: Sequence[tuple[Traceparent, Mapping[str, Any]]]
    resource: Any
    instrumentation_scope: Any


Over: TypeAlias = "ReadableSpan | Finished"
"""A span that is over: the SDK's, or ours."""


def grouped(spans: Sequence[Over]) -> dict[Any, dict[Any, list[Over]]]:
    """Spans by resource and scope, each in the order in which they came."""
    found: dict[Any, dict[Any, list[Over]]] = {}
    before: Over | None = None
    inside: list[Over] = []
    for span in spans:
        # Neighbours have the same ones as a rule, and to look a resource up costs as much as half a span.
        if (
            before is None
            or span.resource is not before.resource
            or span.instrumentation_scope is not before.instrumentation_scope
        ):
            inside = found.setdefault(span.resource, {}).setdefault(span.instrumentation_scope, [])
            before = span
        inside.append(span)
    return found
