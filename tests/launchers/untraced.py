"""`replica` without a single call that tracing costs: what it is measured against."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from opentelemetry import trace

from component import tracing
from lockd.etcd import telemetry
from replica import binder, stories
from replica.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Callable


class Nothing:
    """Makes spans that are none, without so much as a look whether anybody wants them."""

    def start_span(self, *_args, **_fields):
        return trace.INVALID_SPAN


def nothing(*_args, **_fields):
    """Do nothing."""


def plant(put: Callable[[object, str, object], None] = setattr) -> None:
    """Put it in."""
    put(tracing, "emit", nothing)
    put(tracing, "begin", lambda *_args, **_fields: trace.INVALID_SPAN)
    put(telemetry, "_tracer", Nothing())
    put(telemetry.CallSpan, "metadata", ())
    put(binder, "trace", type("Trace", (), {"use_span": lambda *_args, **_fields: contextlib.nullcontext()}))
    for name in ("lead", "follow", "attempt", "of", "bound", "gone"):
        put(stories.PodStories, name, nothing)


if __name__ == "__main__":
    plant()
    main()
