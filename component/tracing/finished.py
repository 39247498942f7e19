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
