"""W3C trace context as the string that travels in records, objects and environments: `00-<trace>-<span>-<flags>`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

SAMPLED = 0x01
"""Flag: the caller may have recorded the span."""

RANDOM = 0x02
"""Flag: the trace id is random, so samplers may decide by it."""

_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Traceparent:
    """A span of this or another process.

    Attributes:
        trace_id: Above 0, below 2^128.
        span_id: Above 0, below 2^64.
        flags: A field of bits, of which later versions of the standard may set more.
    """

    trace_id: int
    span_id: int
    flags: int = SAMPLED

    @property
    def sampled(self) -> bool:
        return bool(self.flags & SAMPLED)

    def __str__(self) -> str:
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{self.flags:02x}"


@lru_cache(maxsize=1024)  # those of a term and of a batch are read for each of their pods
def parse(text: str) -> Traceparent | None:
    """What `text` names, or None when it isn't a traceparent: a bad one is as good as none."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not int(trace_id, 16) or not int(span_id, 16):
        return None
    return Traceparent(int(trace_id, 16), int(span_id, 16), int(flags, 16))
