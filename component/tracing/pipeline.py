"""A queue with a thread behind it that takes what is produced elsewhere: its producers never wait."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

from component import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from component.lifecycle import Group

T = TypeVar("T")

_log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class Sink(Generic[T]):
    """Where items go.

    Attributes:
        take: Handles some items, in order; an exception means that they are lost.
        close: Called after the last.
    """

    take: Callable[[Sequence[T]], object]
    close: Callable[[], object]


class Pipeline(Generic[T]):
    """Collects items and hands them to a sink in batches, from a thread of its own.

    Args:
        name: In logs and of the thread.
        open_sink: Called in that thread, so that what is slow to import or to connect delays nobody.
        linger: Seconds that the first item of a batch waits for others; none when closing.
        limit: Items held at most; what comes beyond is dropped and counted.
        batch: Items handed over at once at most.

    Attributes:
        dropped: Items that found no room.
        failed: Items that the sink did not take.
    """

    def __init__(
        self,
        name: str,
        open_sink: Callable[[], Sink[T]],
        *,
        group: Group,
        linger: float = 0.0,
        limit: int = 8192,
        batch: int = 512,
    ) -> None:
        self.name = name
        self.dropped = 0
        self.failed = 0
        self._open_sink = open_sink
        self._linger = linger
        self._limit = limit
        self._batch = batch
        self._queue: SimpleQueue[T | None] = SimpleQueue()
        self._closing = threading.Event()
        self._ended = threading.Event()
        self._failing = False
        group.spawn(name, self._run)

    def put(self, item: T) -> None:
        """Hand over an item, or drop it: never waits, never raises."""
        if self._closing.is_set() or self._queue.qsize() >= self._limit:
            self.dropped += 1  # two threads may count as one here: it is a hint, not worth a lock
        else:
            self._queue.put(item)

    def request_close(self) -> None:
        """Take no more items, and end once the sink has had those that are there."""
        if not self._closing.is_set():
            self._closing.set()
            self._queue.put(None)

    @property
    def ended(self) -> threading.Event:
        """Set when the sink has had its last item, before it is closed."""
        return self._ended

    @property
    def failing(self) -> bool:
        """Did the sink refuse the last batch it was handed?"""
        return self._failing

    def _run(self) -> None:
        try:
            sink = self._open_sink()
        except Exception as error:  # noqa: BLE001 - telemetry that can't start must not stop what it watches
            _log.error("telemetry could not be set up", pipeline=self.name, error=error)
            self._failing = True
            self._closing.set()
            self._ended.set()
            return
        while self._round(sink):
            pass
        self._ended.set()
        if self.dropped or self.failed:
            _log.warning("telemetry was lost", pipeline=self.name, dropped=self.dropped, failed=self.failed)
        sink.close()

    def _round(self, sink: Sink[T]) -> bool:
        """Wait for an item and hand over all that is there; False after the last."""
        first = self._queue.get()
        if first is None:
            return False
        if self._linger:
            self._closing.wait(self._linger)
        items, going_on = [first], True
        while going_on and len(items) < self._batch:
            try:
                item = self._queue.get_nowait()
            except Empty:
                break
            if item is None:
                going_on = False
            else:
                items.append(item)
        self._hand_over(sink, items)
        return going_on

    def _hand_over(self, sink: Sink[T], items: Sequence[T]) -> None:
        try:
            sink.take(items)
        except Exception as error:  # noqa: BLE001 - whatever it was, the next batch may fare better
            self.failed += len(items)
            if not self._failing:
                _log.warning("telemetry is being lost", pipeline=self.name, error=error)
            self._failing = True
        else:
            if self._failing:
                _log.info("telemetry is taken again", pipeline=self.name, lost=self.failed)
            self._failing = False
