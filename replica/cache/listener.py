"""A listener of an informer: its buffer, its thread, and the handler they feed."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec

from component import logs
from component.clock import LONGEST_WAIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from replica.cache.barrier import Consumer
    from replica.cache.mutation import MutationDetector

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

_log = logs.get(__name__)

TAKEN_AT_ONCE = 1024
"""Notifications taken from the buffer under one lock."""


class Handler(Protocol[T_contra]):
    """Told of every change of a kind, in the order of changes per key, by one thread.

    What it raises is logged; that notification is lost to it, and the next one follows.
    """

    def on_add(self, obj: T_contra, *, initial: bool) -> object:
        """An object appeared, or (`initial`) was there before the handler was."""
        ...

    def on_update(self, old: T_contra, new: T_contra) -> object:
        """An object changed; a resync says so with equal revisions."""
        ...

    def on_delete(self, obj: T_contra, *, stale: bool) -> object:
        """An object is gone. `stale`: seen only by its absence from a list, so its final state is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Handlers(Generic[T]):
    """A handler made of functions, each of which may be left out."""

    add: Callable[[T], object] | None = None
    update: Callable[[T, T], object] | None = None
    delete: Callable[[T], object] | None = None

    def on_add(self, obj: T, *, initial: bool) -> None:  # noqa: ARG002 - these functions take every add alike
        if self.add is not None:
            self.add(obj)

    def on_update(self, old: T, new: T) -> None:
        if self.update is not None:
            self.update(old, new)

    def on_delete(self, obj: T, *, stale: bool) -> None:  # noqa: ARG002 - these functions take every delete alike
        if self.delete is not None:
            self.delete(obj)


@dataclass(frozen=True, slots=True)
class Filtered(Generic[T]):
    """A handler that is told only of objects that pass: one that begins to is an add, one that ceases to a delete."""

    handler: Handler[T]
    passes: Callable[[T], bool]

    def on_add(self, obj: T, *, initial: bool) -> None:
        if self.passes(obj):
            self.handler.on_add(obj, initial=initial)

    def on_update(self, old: T, new: T) -> None:
        before, after = self.passes(old), self.passes(new)
        if before and after:
            self.handler.on_update(old, new)
        elif after:
            self.handler.on_add(new, initial=False)
        elif before:
            self.handler.on_delete(old, stale=False)

    def on_delete(self, obj: T, *, stale: bool) -> None:
        if self.passes(obj):
            self.handler.on_delete(obj, stale=stale)


class Added(msgspec.Struct, frozen=True, gc=False):
    """To be told by `on_add`."""

    obj: Any
    initial: bool

    @property
    def objects(self) -> tuple[Any, ...]:
        return (self.obj,)

    def tell(self, handler: Handler[Any]) -> None:
        handler.on_add(self.obj, initial=self.initial)


class Updated(msgspec.Struct, frozen=True, gc=False):
    """To be told by `on_update`."""

    old: Any
    new: Any
    sync: bool = False
    """Nothing changed: only for listeners that asked for resyncs."""

    @property
    def objects(self) -> tuple[Any, ...]:
        return (self.old, self.new)

    def tell(self, handler: Handler[Any]) -> None:
        handler.on_update(self.old, self.new)


class Deleted(msgspec.Struct, frozen=True, gc=False):
    """To be told by `on_delete`."""

    obj: Any
    stale: bool

    @property
    def objects(self) -> tuple[Any, ...]:
        return (self.obj,)

    def tell(self, handler: Handler[Any]) -> None:
        handler.on_delete(self.obj, stale=self.stale)


Notification = Added | Updated | Deleted


class Listener(Generic[T]):
    """Carries notifications to one handler, in order, by a buffer that grows and a thread of its own.

    So a slow handler delays, and a failing one harms, nobody else. Markers go through the same buffer.

    Args:
        consumer: Told of each marker after all notifications before it; None when no barrier waits for this listener.
        resync: Does it want to be told of what didn't change?
        detector: Asked, after each notification, whether the handler changed what it was told of.
    """

    def __init__(
        self,
        name: str,
        handler: Handler[T],
        *,
        consumer: Consumer | None,
        resync: bool = False,
        detector: MutationDetector | None = None,
    ) -> None:
        self.name = name
        self._handler = handler
        self._consumer = consumer
        self._resync = resync
        self._detector = detector
        self._changed = threading.Condition()
        self._buffer: deque[Notification | int] = deque()
        """Notifications, and the revisions of markers."""
        self._resting = False
        self._closed = False
        self._passed = 0
        self._synced_at: int | None = None

    @property
    def passed(self) -> int:
        """The handler has been told of all changes up to this revision."""
        return self._passed

    @property
    def has_synced(self) -> bool:
        """The handler has been told of everything that was cached when it came."""
        return self._synced_at is not None and self._passed >= self._synced_at

    def synced_by(self, revision: int) -> None:
        """The first marker with `revision` or more follows all adds of what was there before the handler."""
        self._synced_at = revision

    def put(self, notifications: Iterable[Notification]) -> None:
        with self._changed:
            if self._closed:
                return
            if self._resync:
                self._buffer += notifications
            else:
                self._buffer += [each for each in notifications if type(each) is not Updated or not each.sync]
            if self._buffer:
                self._changed.notify()

    def mark(self, revision: int) -> None:
        """All changes up to `revision` have been put: pass it on behind them, at once when there are none."""
        with self._changed:
            if not self._resting or self._buffer:
                if self._buffer and isinstance(self._buffer[-1], int):
                    self._buffer[-1] = max(self._buffer[-1], revision)
                else:
                    self._buffer.append(revision)
                self._changed.notify()
                return
            self._pass(revision)

    def __len__(self) -> int:
        """Notifications (and markers) that wait."""
        return len(self._buffer)

    def close(self) -> None:
        """End the thread; what waits in the buffer is not told any more."""
        with self._changed:
            self._closed = True
            self._buffer.clear()
            self._changed.notify_all()
        if self._consumer is not None:
            self._consumer.leave()

    def run(self, stop: threading.Event) -> None:
        """Feed the handler until stopped or closed.

        Raises:
            Mutated: The handler changed what it was told of, and a detector has seen it.
        """
        handler, detector, stopped = self._handler, self._detector, stop.is_set
        while (entries := self._take(stop)) is not None:
            for entry in entries:
                if isinstance(entry, int):
                    self._pass(entry)
                    continue
                if self._closed or stopped():
                    return
                try:
                    entry.tell(handler)
                except Exception as error:  # noqa: BLE001 - a handler may raise anything, and none of it may end the rest
                    _log.exception("handler failed", error, listener=self.name, notification=type(entry).__name__)
                if detector is not None:
                    for obj in entry.objects:
                        detector.check(obj, self.name)

    def _take(self, stop: threading.Event) -> list[Notification | int] | None:
        with self._changed:
            self._resting = True
            while not self._buffer:
                if self._closed or stop.is_set():
                    return None
                self._changed.wait(LONGEST_WAIT)
            self._resting = False
            if len(self._buffer) <= TAKEN_AT_ONCE:
                taken = list(self._buffer)
                self._buffer.clear()
                return taken
            return [self._buffer.popleft() for _ in range(TAKEN_AT_ONCE)]

    def _pass(self, revision: int) -> None:
        self._passed = max(self._passed, revision)
        if self._consumer is not None:
            self._consumer.passed(self._passed)
