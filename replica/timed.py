"""How long the scheduler takes to hear of what happens in the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from component.metrics import exponential_buckets
from component.metrics.histogram import histogram

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from component.metrics.histogram import Histogram
    from replica.api.kinds import Kind
    from replica.api.pods import Pod
    from replica.cache.listener import Handler

T = TypeVar("T")

EVENT_BUCKETS: Final = exponential_buckets(0.0001, 2, 12)


def subject_of(kind: Kind) -> Callable[[object], str]:
    """What every event of this kind is about."""
    return lambda _: kind.kind


def pod_subject(pod: Pod) -> str:
    """What an event of this pod is about, as kube-scheduler has it."""
    return "AssignedPod" if pod.node else "Pod"


class Timed(Generic[T]):
    """A handler whose every call is measured, by what it is told.

    Args:
        subject: What an object is, in the metric's `event` label: `Node` gives `NodeAdd`, `NodeUpdate`, `NodeDelete`.
    """

    def __init__(self, handler: Handler[T], subject: Callable[[T], str], clock: Clock) -> None:
        self._handler = handler
        self._subject = subject
        self._now = clock.now
        durations = histogram(
            "scheduler_event_handling_duration",
            unit="s",
            labels=("event",),
            buckets=EVENT_BUCKETS,
            description="Time that the scheduler takes to hear of an event",
        )
        self._adds, self._updates, self._deletes = (_Series(durations, what) for what in ("Add", "Update", "Delete"))

    def on_add(self, obj: T, *, initial: bool) -> None:
        began = self._now()
        try:
            self._handler.on_add(obj, initial=initial)
        finally:
            self._adds[self._subject(obj)](self._now() - began)

    def on_update(self, old: T, new: T) -> None:
        began = self._now()
        try:
            self._handler.on_update(old, new)
        finally:
            self._updates[self._subject(new)](self._now() - began)

    def on_delete(self, obj: T, *, stale: bool) -> None:
        began = self._now()
        try:
            self._handler.on_delete(obj, stale=stale)
        finally:
            self._deletes[self._subject(obj)](self._now() - began)


class _Series(dict[str, "Callable[[float], None]"]):
    """Where the durations of one kind of event go, by subject."""

    def __init__(self, durations: Histogram, what: str) -> None:
        super().__init__()
        self._durations = durations
        self._what = what

    def __missing__(self, subject: str) -> Callable[[float], None]:
        record = self[subject] = self._durations.series(f"{subject}{self._what}")
        return record
