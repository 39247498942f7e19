"""A span that costs little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.trace import SpanContext, TraceFlags

from component.clock import SystemClock, nanoseconds
from component.tracing.provider import finished, random_id
from component.tracing.traceparent import RANDOM, SAMPLED, Traceparent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.trace import Link
    from opentelemetry.util.types import AttributeValue

_CLOCK = SystemClock()  # as the SDK's spans have it


class Light(trace.NonRecordingSpan):
    """A root span that takes attributes until its end: one of the SDK's, with locks and limits, costs ten times it."""

    def __init__(self, name: str, links: Sequence[Link], attributes: dict[str, AttributeValue]) -> None:
        self._ids = Traceparent(random_id(128), random_id(64), SAMPLED | RANDOM)
        flags = TraceFlags(self._ids.flags)
        super().__init__(SpanContext(self._ids.trace_id, self._ids.span_id, is_remote=False, trace_flags=flags))
        self._name = name
        self._links = links
        self._attributes = attributes
        self._ended = False
        self.start_time = nanoseconds(_CLOCK.wall())

    def is_recording(self) -> bool:
        return not self._ended

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        self._attributes[key] = value

    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        self._attributes.update(attributes)

    def end(self, end_time: int | None = None) -> None:
        if not self._ended:
            self._ended = True
            named = ((each.context, each.attributes or {}) for each in self._links)
            links = [(Traceparent(at.trace_id, at.span_id, at.trace_flags), told) for at, told in named]
            at = {"start": self.start_time, "end": end_time or nanoseconds(_CLOCK.wall())}
            finished(self._name, self._ids, **at, attributes=self._attributes, events=(), links=links)
