"""Pods' stories: of those that are sampled one span each, from the queue to the bind, with what happened as events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from opentelemetry import trace

from component import tracing
from replica.api.codec import Undecodable, parse_envelope
from replica.api.times import parse_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from component.clock import Clock
    from component.tracing import Story
    from replica.api.pods import Pod
    from replica.queue.pod import QueuedPod

NAME: Final = "scheduler.schedule_pod"

MOST: Final = 10_000
"""Stories at once: pods beyond have none."""

MOST_UNFINISHED: Final = 500
"""Stories told of pods that still wait as the term ends: all of them would keep the exit."""

_TRACEPARENT: Final = tracing.Caller.FIELDS[0].encode()

BATCH: Final = "bind_batch"
"""The kind of link to the batch that bound a pod."""


class _Metadata(msgspec.Struct, gc=False):
    annotations: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)


class _Annotated(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


def creator(pod: Pod) -> tracing.Caller | None:
    """The span that made a pod, by its annotations `traceparent` and `tracestate`; None where they name none."""
    if pod.value is None or _TRACEPARENT not in pod.value:
        return None
    try:
        manifest = parse_envelope(pod.path, pod.value).manifest
        annotations = msgspec.json.decode(manifest, type=_Annotated).metadata.annotations
        fields = [
            (name, msgspec.json.decode(annotations[name])) for name in tracing.Caller.FIELDS if name in annotations
        ]
    except (Undecodable, msgspec.DecodeError):
        return None
    return tracing.Caller.of(fields)


class PodStories:
    """The stories of one process. Nobody wants spans: a look at an empty dictionary is all that each call costs."""

    def __init__(self) -> None:
        self._stories = tracing.Stories(NAME)
        self._told: dict[str, PodStory] = {}
        self._clock: Clock | None = None
        self._term = ""
        self._token = 0

    def lead(self, traceparent: str, token: int, clock: Clock) -> None:
        """A term begins: stories are told from now on.

        Args:
            traceparent: The term's anchor, which they are linked to.
        """
        self._term, self._token = traceparent, token
        self._clock = clock if self._stories.wanted else None

    def follow(self) -> None:
        """The term is over: what is told so far is recorded, as far as there is time for it."""
        self._clock = None
        told, self._told = self._told, {}
        for story in list(told.values())[:MOST_UNFINISHED]:
            story.end("unfinished")

    def attempt(self, queued: QueuedPod) -> None:
        """A scheduling cycle begins; here a pod's story does, unless it has begun."""
        clock, pod = self._clock, queued.pod
        if clock is None:
            return
        story = self._told.get(pod.uid)
        if story is None:
            caller = creator(pod)
            trace_id = self._stories.chosen(pod.uid, caller)
            if trace_id is None or len(self._told) >= MOST:
                return
            start = queued.first_seen + clock.wall() - clock.now()
            links = [(self._term, {"link.kind": "leadership_term"})]
            began = self._stories.begin_chosen(trace_id, start, caller=caller, links=links)
            story = self._told[pod.uid] = PodStory(began, queued, self._token, clock)
        story.attempts = queued.attempts
        story.tell("attempt", number=queued.attempts)

    def of(self, uid: str) -> PodStory | None:
        """The story of a pod, if it has one."""
        return self._told.get(uid)

    def bound(self, pods: Iterable[tuple[str, str]], revision: int) -> None:
        """Pods were bound by the batch whose span this thread is in.

        Args:
            pods: Uid and node of each.
            revision: Of the reply that says so.
        """
        if not self._told:
            return
        span = trace.get_current_span()
        sent, batch = getattr(span, "start_time", None), tracing.current_traceparent() or ""
        for uid, node in pods:
            if (story := self._told.pop(uid, None)) is not None:
                story.bound(node, revision, batch=batch, sent=sent)

    def gone(self, uid: str) -> None:
        """A pod was deleted."""
        if self._told and (story := self._told.pop(uid, None)) is not None:
            story.end("deleted")


class PodStory:
    """One pod's.

    Attributes:
        attempts: So far.
    """

    __slots__ = ("_clock", "_path", "_story", "_token", "_uid", "attempts")

    def __init__(self, story: Story, queued: QueuedPod, token: int, clock: Clock) -> None:
        self.attempts = queued.attempts
        self._story = story
        self._clock = clock
        self._path, self._uid, self._token = queued.key, queued.pod.uid, token
        if (created := parse_time(queued.pod.created)) is not None:
            story.tell("created", created)
        story.tell("queued", clock.wall() - (clock.now() - queued.first_seen))

    def tell(self, event: str, **attributes: Any) -> None:
        """Something happened, just now."""
        self._story.tell(event, self._clock.wall(), **attributes)

    def bound(self, node: str, revision: int, *, batch: str, sent: int | None) -> None:
        """It is over, and well.

        Args:
            batch: The traceparent of the batch's span.
            sent: When that began, in nanoseconds since 1970.
        """
        if sent is not None:
            self._story.tell("batch", sent / 1e9)
        self.tell("bound", **{"node": node, "etcd.revision": revision})
        self._story.link(batch, BATCH)
        self.end("scheduled", node)

    def end(self, result: str, node: str = "") -> None:
        """It is over: record it."""
        told: dict[str, str | int] = {
            "pod": self._path,
            "uid": self._uid,
            "attempts": self.attempts,
            "result": result,
            "token": self._token,
        }
        self._story.end(self._clock.wall(), {**told, "node": node} if node else told)
