"""The work queue of controllers: keys to look at, each once, however often it was asked for."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Final

from opentelemetry import metrics

from component.clock import LONGEST_WAIT
from replica.queue.heap import Heap
from replica.queue.ratelimit import RateLimiter, controller_limiter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.metrics import CallbackOptions

    from component.clock import Clock

BUCKETS: Final = tuple(1e-8 * 10**power for power in range(10))


class WorkQueue:
    """Keys in the order in which they were first asked for.

    A key is in it once. One that is asked for while it is being worked on comes back once after `done`, so no two
    workers have the same key, and a worker that begins after a change sees that change.

    Thread-safe.

    Args:
        name: In the `name` label of the `workqueue_*` metrics.
    """

    def __init__(self, name: str, *, clock: Clock, limiter: RateLimiter | None = None) -> None:
        self._clock = clock
        self._limiter = limiter or controller_limiter()
        self._changed = threading.Condition()
        self._queue: deque[str] = deque()
        self._dirty: dict[str, float] = {}
        """Keys that wait for work, or for the end of the work on them, and since when."""
        self._working: dict[str, float] = {}
        """Keys being worked on, and since when."""
        self._later: Heap[tuple[str, float]] = Heap(lambda entry: entry[0], lambda entry: entry[1])
        self._shut = False
        self._meters = _Meters(name, self)

    def add(self, key: str) -> None:
        """Ask for a key to be looked at."""
        with self._changed:
            self._add(key, self._clock.now())

    def add_after(self, key: str, seconds: float) -> None:
        """The same in a while; the earliest of several such wishes counts."""
        with self._changed:
            self._add_after(key, seconds, self._clock.now())

    def add_rate_limited(self, key: str) -> None:
        """The same when the rate limits allow, after a failure."""
        with self._changed:
            now = self._clock.now()
            self._add_after(key, self._limiter.when(key, now), now)
        self._meters.retried()

    def forget(self, key: str) -> None:
        """The key came to a good end, or to none: its next failure counts as its first."""
        with self._changed:
            self._limiter.forget(key)

    def retries(self, key: str) -> int:
        """How often the key has failed."""
        with self._changed:
            return self._limiter.retries(key)

    def get(self, stop: threading.Event, timeout: float) -> str | None:
        """Take a key to work on; `done` must follow.

        Returns:
            None at the timeout (seconds), when stopped, or when the queue was shut down and is empty.
        """
        end = self._clock.now() + timeout
        with self._changed:
            while True:
                now = self._clock.now()
                self._ripen(now)
                if stop.is_set():
                    return None
                if self._queue:
                    return self._take(now)
                if self._shut or now >= end:
                    return None
                later = self._later.peek()
                ripe = end if later is None else later[1]
                self._changed.wait(min(end - now, ripe - now, LONGEST_WAIT))

    def done(self, key: str) -> None:
        """Work on the key has ended, well or not; if it was asked for meanwhile, it comes again."""
        with self._changed:
            now = self._clock.now()
            began = self._working.pop(key, None)
            if key in self._dirty:
                self._queue.append(key)
            self._changed.notify_all()
        if began is not None:
            self._meters.worked(now - began)

    def shut_down(self) -> None:
        """Take no more keys; those that wait can still be had, then workers get None."""
        with self._changed:
            self._shut = True
            self._changed.notify_all()

    def drain(self, stop: threading.Event, timeout: float) -> bool:
        """Shut down, and wait until all that was in it has been worked on; False at the timeout or when stopped."""
        self.shut_down()
        end = self._clock.now() + timeout
        with self._changed:
            while self._queue or self._working:
                left = end - self._clock.now()
                if stop.is_set() or left <= 0:
                    return False
                self._changed.wait(min(left, LONGEST_WAIT))
            return True

    def __len__(self) -> int:
        """Keys that wait for work now."""
        with self._changed:
            self._ripen(self._clock.now())
            return len(self._queue)

    def ages(self) -> tuple[float, ...]:
        """Seconds for which each key in work has been there."""
        with self._changed:
            now = self._clock.now()
            return tuple(now - began for began in self._working.values())

    # --- with the lock held

    def _add(self, key: str, now: float) -> None:
        if self._shut or key in self._dirty:
            return
        self._dirty[key] = now
        self._meters.added()
        if key not in self._working:
            self._queue.append(key)
            self._changed.notify()

    def _add_after(self, key: str, seconds: float, now: float) -> None:
        if seconds <= 0:
            self._add(key, now)
            return
        known = self._later.get(key)
        if not self._shut and (known is None or now + seconds < known[1]):
            self._later.add((key, now + seconds))
            self._changed.notify()

    def _ripen(self, now: float) -> None:
        while (first := self._later.peek()) is not None and first[1] <= now:
            self._later.pop()
            self._add(first[0], now)

    def _take(self, now: float) -> str:
        key = self._queue.popleft()
        self._meters.waited(now - self._dirty.pop(key))
        self._working[key] = now
        return key


class _Meters:
    """The `workqueue_*` metrics of one queue."""

    def __init__(self, name: str, queue: WorkQueue) -> None:
        meter = metrics.get_meter(__name__)
        self._labels = {"name": name}
        self._adds = meter.create_counter("workqueue_adds", description="Keys added")
        self._retries = meter.create_counter("workqueue_retries", description="Keys added after a failure")
        self._waits = meter.create_histogram(
            "workqueue_queue_duration",
            unit="s",
            description="Time that keys wait for work",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )
        self._works = meter.create_histogram(
            "workqueue_work_duration",
            unit="s",
            description="Time that work on a key takes",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )

        def depth(_: CallbackOptions) -> Iterable[metrics.Observation]:
            yield metrics.Observation(len(queue), self._labels)

        def unfinished(_: CallbackOptions) -> Iterable[metrics.Observation]:
            yield metrics.Observation(sum(queue.ages()), self._labels)

        def longest(_: CallbackOptions) -> Iterable[metrics.Observation]:
            yield metrics.Observation(max(queue.ages(), default=0.0), self._labels)

        meter.create_observable_gauge("workqueue_depth", [depth], description="Keys that wait for work")
        meter.create_observable_gauge(
            "workqueue_unfinished_work", [unfinished], unit="s", description="Time spent so far on keys in work"
        )
        meter.create_observable_gauge(
            "workqueue_longest_running_processor", [longest], unit="s", description="The longest of these times"
        )

    def added(self) -> None:
        self._adds.add(1, self._labels)

    def retried(self) -> None:
        self._retries.add(1, self._labels)

    def waited(self, seconds: float) -> None:
        self._waits.record(seconds, self._labels)

    def worked(self, seconds: float) -> None:
        self._works.record(seconds, self._labels)
