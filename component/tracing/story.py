"""Spans that are told bit by bit, thousands at once: they cost what is told of them, and nothing unless sampled."""

from __future__ import annotations

import random
import secrets
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from opentelemetry.context import Context
from opentelemetry.trace import SpanKind

from component.clock import nanoseconds
from component.tracing.context import Caller, parent_context
from component.tracing.installed import Installed
from component.tracing.traceparent import RANDOM, SAMPLED, Traceparent, parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.util.types import AttributeValue

SHARE: Final = 0.01
"""The share of stories that are told where the environment names no sampler."""

MOST_EVENTS: Final = 128
"""Of one story: later ones take the place of those in the middle, so that its beginning and its end are told."""

_LOW: Final = 0xFFFF_FFFF_FFFF_FFFF
"""The part of a trace id that samplers go by."""

_KEPT: Final = 16
"""Of the oldest events."""


class Story:
    """One span to be: `tell` what happens, `end` it once.

    Attributes:
        traceparent: Its name, for others to link to.
    """

    __slots__ = ("_dropped", "_events", "_ids", "_links", "_name", "_start", "traceparent")

    def __init__(
        self, name: str, ids: Traceparent, start: float, links: Sequence[tuple[str, Mapping[str, str]]]
    ) -> None:
        self.traceparent = str(ids)
        self._name = name
        self._ids = ids
        self._start = start
        self._links = list(links)
        self._events: list[tuple[str, float, dict[str, AttributeValue]]] = []
        self._dropped = 0

    def tell(self, event: str, at: float, **attributes: AttributeValue) -> None:
        """Something happened, at `at` (seconds since 1970)."""
        if len(self._events) >= MOST_EVENTS:
            del self._events[_KEPT]
            self._dropped += 1
        self._events.append((event, at, attributes))

    def link(self, traceparent: str, kind: str) -> None:
        """It has to do with another span; nothing when that isn't a traceparent."""
        self._links.append((traceparent, {"link.kind": kind}))

    def end(self, at: float, attributes: Mapping[str, AttributeValue]) -> None:
        """It is over: record it."""
        if Installed.provider is None:
            return
        from component.tracing.provider import finished  # noqa: PLC0415 - imported by `setup` already

        begin = nanoseconds(self._start)
        finished(
            self._name,
            self._ids,
            start=begin,
            end=max(nanoseconds(at), begin),
            attributes=attributes if not self._dropped else {**attributes, "events.dropped": self._dropped},
            events=tuple(self._events),
            links=[(found, given) for text, given in self._links if (found := parse(text))],
        )


class Stories:
    """Which of many subjects get a story. The choice is the subject's: every process makes the same one.

    Args:
        name: Of the spans.
        share: Of those told where the environment names no sampler.
    """

    def __init__(self, name: str, *, share: float = SHARE) -> None:
        self._name = name
        self._below = round(share * (1 << 64))

    @property
    def wanted(self) -> bool:
        """Does anybody want spans at all?"""
        return Installed.provider is not None

    def begin(
        self,
        subject: str,
        start: float,
        *,
        caller: Caller | None = None,
        links: Sequence[tuple[str, Mapping[str, str]]] = (),
    ) -> Story | None:
        """The story of `subject`, or None when it isn't sampled.

        All stories of one subject are of one trace, which its name gives.

        Args:
            subject: Unique, such as a uid.
            start: Seconds since 1970.
            caller: Who made the subject: the story is linked to that span, and is told if that one is recorded and the
                sampler follows parents, as it does by default.
            links: As `emit` takes them.
        """
        trace_id = self.chosen(subject, caller)
        return None if trace_id is None else self.begin_chosen(trace_id, start, caller=caller, links=links)

    def chosen(self, subject: str, caller: Caller | None = None) -> int | None:
        """The trace id of a subject's stories, or None when it isn't sampled: what to ask before all else."""
        if Installed.provider is None:
            return None
        trace_id = int.from_bytes(blake2b(subject.encode(errors="replace"), digest_size=16).digest()) or 1
        return trace_id if self._sampled(trace_id, caller) else None

    def begin_chosen(
        self,
        trace_id: int,
        start: float,
        *,
        caller: Caller | None = None,
        links: Sequence[tuple[str, Mapping[str, str]]] = (),
    ) -> Story:
        """As `begin`, for a subject that was chosen."""
        ids = Traceparent(trace_id, _spans.getrandbits(64) or 1, SAMPLED | RANDOM)
        story = Story(self._name, ids, start, links)
        if caller is not None:
            story.link(caller.traceparent, "creator")
        return story

    def _sampled(self, trace_id: int, caller: Caller | None) -> bool:
        if caller is None and Installed.share is not None:  # as the SDK's sampler does, in a tenth of its time
            return trace_id & _LOW < round(Installed.share * (_LOW + 1))
        if Installed.sampler_chosen and Installed.provider is not None:
            from opentelemetry.sdk.trace.sampling import Decision  # noqa: PLC0415 - imported by `setup` already

            context = parent_context(caller) if caller is not None else _NOBODY
            chosen = Installed.provider.sampler.should_sample(context, trace_id, self._name, SpanKind.INTERNAL)
            return chosen.decision is not Decision.DROP
        above = parse(caller.traceparent) if caller is not None else None
        if above is not None:
            return above.sampled
        return trace_id & _LOW < self._below


_NOBODY = Context()
_spans = random.Random(secrets.randbits(256))  # noqa: S311 - unique is enough, nobody has to be kept from guessing
