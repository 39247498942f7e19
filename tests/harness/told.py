"""Spans as a test's own process tells them, kept in memory in place of a file or a collector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor

from component.tracing import otlpjson, provider
from component.tracing.installed import Installed
from component.tracing.reading import request_spans

if TYPE_CHECKING:
    import pytest
    from opentelemetry.sdk.trace import ReadableSpan

    from component.tracing.finished import Finished
    from component.tracing.reading import Span


class Told(SpanProcessor):
    """Keeps every span that ends, while `patch` lasts.

    Args:
        share: Of subjects that have a story, as a sampler by trace id takes them.

    Attributes:
        ended: In that order.
    """

    def __init__(self, patch: pytest.MonkeyPatch, *, share: float = 1.0) -> None:
        self.ended: list[ReadableSpan | Finished] = []
        made = provider.provider(Resource.create({"service.instance.id": "told"}))
        made.add_span_processor(self)
        patch.setattr(Installed, "provider", made)
        patch.setattr(Installed, "takers", (self,))
        patch.setattr(Installed, "sampler_chosen", True)
        patch.setattr(Installed, "share", share)
        patch.setattr(Installed, "_tracers", {})

    def on_end(self, span: ReadableSpan) -> None:
        self.ended.append(span)

    def take(self, span: Finished) -> None:
        self.ended.append(span)

    def spans(self, name: str = "") -> tuple[Span, ...]:
        """Those of a name, or all, as the readers of trace files have them, in the order of their ends."""
        found = request_spans(otlpjson.request(list(self.ended))) if self.ended else ()
        return tuple(span for span in found if name in {"", span.name})
