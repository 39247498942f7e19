"""One finished span, put at the end of a trace file at once: for who tells few, and has no tracer."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from component.tracing.otlpjson import attributes as encoded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

INTERNAL = 1


def append(
    path: Path, name: str, start: float, end: float, *, service: str, instance: str, attributes: Mapping[str, Any]
) -> None:
    """Write it as one line.

    Args:
        start: In seconds since 1970.
        end: The same.

    Raises:
        OSError: It can't be written.
    """
    span = {
        "traceId": secrets.token_hex(16),
        "spanId": secrets.token_hex(8),
        "name": name,
        "kind": INTERNAL,
        "startTimeUnixNano": str(round(start * 1e9)),
        "endTimeUnixNano": str(round(end * 1e9)),
        "attributes": encoded(attributes),
    }
    who = {
        "attributes": encoded({"service.name": service, "service.instance.id": instance, "process.pid": os.getpid()})
    }
    scoped = {"scope": {"name": service}, "spans": [span]}
    with path.open("ab", buffering=0) as file:
        file.write(msgspec.json.encode({"resourceSpans": [{"resource": who, "scopeSpans": [scoped]}]}) + b"\n")
