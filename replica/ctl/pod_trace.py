"""A pod's story out of the replicas' trace files: what each leader did with it, down to the calls to etcd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from component.tracing import waterfall as picture
from component.tracing.reading import read_files
from component.tracing.waterfall import Row, Waterfall, milliseconds, note
from lockd.errors import ConfigError
from replica.stories import BATCH, NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from component.tracing.reading import Event, Span

TOLD: Final = ("number", "plugins", "message", "node", "plugin", "etcd.revision")
"""What is told of an event, in this order."""

CALL: Final = ("server.address", "server.port", "rpc.response.status_code", "etcd.revision")


def read(places: Sequence[Path]) -> tuple[Span, ...]:
    """The spans of trace files, and of the `*.jsonl` files in folders.

    Raises:
        ConfigError: There are none.
        OSError: One can't be read.
    """
    files = [file for place in places for file in (sorted(place.glob("*.jsonl")) if place.is_dir() else [place])]
    if not files:
        named = f" in {', '.join(map(str, places))}" if places else ""
        raise ConfigError((f"no trace files{named}: name with --traces those that the replicas write (--trace-file)",))
    return read_files(files)


def lines(spans: Sequence[Span], path: str, uid: str) -> list[str]:
    """A pod's stories for people, under the rest of its description."""
    found = stories(spans, path, uid)
    if not found:
        return ["Trace:", f"  {nothing(path)}"]
    told = [line for story in found for line in picture.lines(waterfall(spans, story))]
    return ["Trace:", *(f"  {line}" for line in told)]


def stories(spans: Iterable[Span], path: str, uid: str = "") -> tuple[Span, ...]:
    """The stories of a pod (`namespace/name`), by start; with a uid only those of that pod among those of its name."""
    return tuple(
        span
        for span in spans
        if span.name == NAME and span.attributes.get("pod") == path and uid in {"", span.attributes.get("uid")}
    )


def nothing(path: str) -> str:
    """What to say where there are none."""
    return (
        f"no story of pod {path} in these traces: it is told once the pod is bound or gone, and of 1 pod in 100 unless "
        "its leader runs with OTEL_TRACES_SAMPLER=always_on"
    )


def document(story: Span) -> dict[str, Any]:
    """For `-o json`: attributes, and events in milliseconds since it began."""
    return {
        "trace": story.trace_id,
        "span": story.span_id,
        "leader": story.instance,
        "began": story.start,
        "duration_ms": round((story.end - story.start) * 1e3, 3),
        **story.attributes,
        "events": [
            {"offset_ms": round((event.at - story.start) * 1e3, 3), "event": event.name, **event.attributes}
            for event in story.events
        ],
    }


def waterfall(spans: Sequence[Span], story: Span) -> Waterfall:
    """One story with its events, the batch that bound the pod, the calls of that, and the span that created it."""
    told = story.attributes
    creators = [span for span in spans if span.span_id in story.linked("creator")]
    batches = [span for span in spans if span.span_id in story.linked(BATCH)]
    calls = {batch.span_id: [span for span in spans if span.parent == batch.span_id] for batch in batches}
    where = f" on {told['node']}" if told.get("node") else ""
    facts = (
        f"{told.get('result')}{where} after {milliseconds(story.end - story.start)}, attempts {told.get('attempts')}",
        f"leader {story.instance}, token {told.get('token')}, trace {story.trace_id}",
        *(f"created by {one.trace_id}/{one.span_id}" for one in story.references if one.kind == "creator"),
    )
    rows = [Row(what=one.name, start=one.start, end=one.end, who=one.service) for one in creators]
    rows.append(Row(what=story.name, start=story.start, end=story.end, who=story.instance))
    rows += [_event(event) for event in story.events]
    for batch in batches:
        rows.append(_span(batch, 1, ("pods", "outcome", "copies")))
        rows += [_span(call, 2, CALL) for call in calls[batch.span_id]]
    title = f"Pod {told.get('pod')} (uid {told.get('uid')})"
    return Waterfall(title=title, origin=story.start, rows=tuple(rows), facts=facts, since=story.start)


def _event(event: Event) -> Row:
    words = note(event.attributes, TOLD)
    return Row(what=event.name, start=event.at, end=event.at, note=words, depth=1, failed=event.name in _FAILED)


def _span(span: Span, depth: int, names: tuple[str, ...]) -> Row:
    return Row(
        what=span.name,
        start=span.start,
        end=span.end,
        who=span.instance if depth == 1 else "",
        note=note(span.attributes, names),
        depth=depth,
        failed=bool(span.error),
    )


_FAILED: Final = frozenset({"refused", "failed", "bind refused"})
