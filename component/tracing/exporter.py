"""The OTLP exporters log twice for each export that fails; here it is kept for those who say it once a transition."""

from __future__ import annotations

import logging


class Reasons(logging.Filter):
    """Lets nothing through, and keeps what the exporters said last."""

    last = "the collector did not take it"

    def filter(self, record: logging.LogRecord) -> bool:
        self.last = record.getMessage()
        return False


def quieted() -> Reasons:
    """Silence them, from now on."""
    logger = logging.getLogger("opentelemetry.exporter.otlp.proto.grpc.exporter")
    for known in logger.filters:
        if isinstance(known, Reasons):
            return known
    reasons = Reasons()
    logger.addFilter(reasons)
    return reasons
