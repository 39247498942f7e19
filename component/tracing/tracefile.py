"""A file of OTLP JSON, one ExportTraceServiceRequest a line."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import msgspec

from component.tracing import otlpjson

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from component.tracing.finished import Over


def _encoded(request: dict[str, Any]) -> bytes:
    """As JSON; half of a surrogate pair, which UTF-8 has no place for, becomes a question mark."""
    try:
        return msgspec.json.encode(request)
    except UnicodeEncodeError:
        return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


class TraceFile:
    """Appends spans; what was appended survives the death of the process, though not that of the host.

    Raises:
        OSError: The file can't be opened for appending.
    """

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._torn = False

    def append(self, spans: Sequence[Over]) -> None:
        """Hand one line to the system, whole.

        Raises:
            OSError: It didn't take all of it, as on a full disk; the next line begins anew.
        """
        line = _encoded(otlpjson.request(spans))
        rest = memoryview(b"\n" * self._torn + line + b"\n")
        while rest:
            written = os.write(self._fd, rest)
            self._torn = written < len(rest)
            rest = rest[written:]

    def close(self) -> None:
        os.close(self._fd)
