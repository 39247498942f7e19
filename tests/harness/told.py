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
    """Keeps every span that ends, while `patch` lasts; all are sampled."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._ended: list[ReadableSpan | Finished] = []
        made = provider.provider(Resource.create({"service.instance.id": "told"}))
        made.add_span_processor(self)
        patch.setattr(Installed, "provider", made)
        patch.setattr(Installed, "takers", (self,))
        patch.setattr(Installed, "sampler_chosen", True)
        patch.setattr(Installed, "_tracers", {})

    def on_end(self, span: ReadableSpan) -> None:
        self._ended.append(span)

    def take(self, span: Finished) -> None:
        self._ended.append(span)

    def spans(self, name: str = "") -> tuple[Span, ...]:
        """Those of a name, or all, as the readers of trace files have them, in the order of their ends."""
        found = request_spans(otlpjson.request(list(self._ended))) if self._ended else ()
        return tuple(span for span in found if name in {"", span.name})
