"""Watches that don't fall silent: a stream that is asked for a sign of life, reopened elsewhere and resumed."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Final

from component.backoff import Backoff
from component.lifecycle import Group
from lockd.errors import HistoryLost, StoreError, Unauthenticated
from lockd.etcd.cursor import Cursor, Refused
from lockd.etcd.model import WatchInterrupted
from lockd.etcd.stream import Stream
from lockd.etcd.telemetry import Opening

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockd.etcd.calls import Caller
    from lockd.etcd.model import WatchItem, WatchTarget
    from lockd.etcd.stream import Pace

_REOPEN: Final = Backoff(initial=0.05, maximum=1.0, jitter=0.5)
"""Between two rounds through the members."""
_STOP_POLL: Final = 0.2
"""Seconds between two looks at the group's stop."""


class Watch:
    """Delivers what happens to its targets, each in revision order, to a sink in a thread of its own.

    The thread ends by `cancel`, by `close`, by its group's stop, by HistoryLost or by what the sink raises; the
    last two are failures of its group. A slow sink delays its own watch only.
    """

    def __init__(
        self,
        caller: Caller,
        targets: Sequence[WatchTarget],
        sink: Callable[[WatchItem], None],
        pace: Pace,
    ) -> None:
        self._caller = caller
        self._pace = pace
        self._sink = sink
        self._cursor = Cursor(targets)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._stream: Stream | None = None
        self._group: Group | None = None
        self._thread: threading.Thread | None = None
        self._told: type[StoreError] | None = None

    def start(self, group: Group | None = None) -> None:
        """Run in a thread of `group`, or of a group of its own."""
        self._group = group or Group("etcd")
        self._thread = self._group.spawn("watch", self._run)

    @property
    def running(self) -> bool:
        """Has its thread not ended?"""
        return self._thread is None or self._thread.is_alive()

    def applied(self, target: WatchTarget) -> int:
        """The revision up to which everything about `target` was delivered; 0 before anything is known."""
        with self._lock:
            return self._cursor.applied(target)

    def follow(self, target: WatchTarget) -> None:
        """Watch `target` from its start revision on: after a compaction, or as a further one."""
        with self._lock:
            create, stream = self._cursor.follow(target), self._stream
            if stream is not None:
                stream.create(create)

    def leave(self, key: str) -> None:
        """Watch the target with this key no more."""
        with self._lock:
            ids, stream = self._cursor.leave(key), self._stream
            for watch_id in ids:
                if stream is not None:
                    stream.drop(watch_id)

    def reopen(self) -> None:
        """Leave the member that it is on, which may be lagging, for another, and resume there."""
        with self._lock:
            stream = self._stream
        if stream is not None:
            stream.end()

    def cancel(self) -> None:
        """End it, without waiting."""
        self._stop.set()
        with self._lock:
            stream = self._stream
        if stream is not None:
            stream.end()

    def close(self, seconds: float = 2.0) -> bool:
        """End it and wait for its thread; False if that goes on. From the sink itself: without waiting."""
        self.cancel()
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(seconds)
        return not thread.is_alive()

    def _stopping(self) -> bool:
        return self._stop.is_set() or (self._group is not None and self._group.stop.is_set())

    def _run(self) -> None:
        failures, renewed = 0, False
        while not self._stopping():
            endpoint = self._caller.picker.pick(self._caller.clock.now())
            stream = Stream(self._caller, endpoint, self._pace, stopping=self._stopping, renewed=renewed)
            try:
                self._follow(stream)
            except StoreError as error:
                if self._stopping():
                    return
                self._broken(stream, error)
                renewed = isinstance(error, Unauthenticated)
            finally:
                with self._lock:
                    self._stream = None
                stream.end()
            failures = 0 if stream.fruitful else failures + 1
            rounds, place = divmod(failures, self._caller.picker.size)
            if not place:
                self._pause(_REOPEN.delay(rounds - 1, random.random()))  # noqa: S311  # spreads load, no secret

    def _follow(self, stream: Stream) -> None:
        opening = Opening(stream.endpoint, self._caller.clock)
        try:
            self._read(stream, opening)
        except StoreError as error:
            opening.failed(error)
            raise

    def _read(self, stream: Stream, opening: Opening) -> None:
        ordered = stream.open()
        with self._lock:
            for create in self._cursor.open():
                stream.create(create)
            self._stream = stream
        if self._stop.is_set():  # a cancel that came before there was a stream to end
            return
        for frame in stream.frames():
            opening.succeeded()
            with self._lock:
                outcomes = self._cursor.take(frame, ordered=ordered)
            for outcome in outcomes:
                if isinstance(outcome, Refused):
                    raise stream.refusal(outcome.reason)
                self._deliver(outcome)
            self._told = None

    def _deliver(self, item: WatchItem) -> None:
        if not self._stopping():
            self._sink(item)

    def _broken(self, stream: Stream, error: StoreError) -> None:
        stream.blame()
        if isinstance(error, Unauthenticated):  # the next stream has a fresh token
            return
        if type(error) is not self._told:
            self._told = type(error)
            self._deliver(WatchInterrupted(error))
        if isinstance(error, HistoryLost):
            raise error

    def _pause(self, seconds: float) -> None:
        clock = self._caller.clock
        end = clock.now() + seconds
        while not self._stopping() and (left := end - clock.now()) > 0:
            clock.wait(self._stop, min(left, _STOP_POLL))
