"""One watch stream for the keys of many locks, and for many who want to know of each."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final

from component import logs
from component.backoff import Backoff
from lockd.errors import HistoryLost, StoreError
from lockd.etcd.model import WatchBatch, WatchCompacted, WatchTarget
from lockd.lock_watch import READ_TIMEOUT
from lockd.ports import Get, GetReply, KeyEvent, Seen, Txn, Which

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.etcd.model import WatchItem
    from lockd.etcd.watch import Watch
    from lockd.ports import LockName

    Sink = Callable[[KeyEvent], None]

_log = logs.get("lockd.watch")

_PAUSE: Final = Backoff(initial=0.1, maximum=1.0)


@dataclass(eq=False, slots=True)
class _Topic:
    """One lock: who wants to know, and what was told last of each key, for who comes later."""

    lock: LockName
    sinks: dict[int, Sink] = field(default_factory=dict)
    told: dict[str, KeyEvent] = field(default_factory=dict)

    @property
    def keys(self) -> dict[str, Which]:
        lock = self.lock
        return {
            lock.lease: Which.LEASE,
            lock.term: Which.TERM,
            lock.history: Which.HISTORY,
            lock.switchover: Which.SWITCHOVER,
            lock.candidates: Which.CANDIDATE,
        }

    def tell(self, event: KeyEvent) -> None:
        """Only what is newer than the last told of that key: a reading and the watch may bring the same."""
        known = self.told.get(event.key)
        if known is not None and event.seen.revision <= known.seen.revision:
            return
        if event.which is Which.CANDIDATE and event.seen.value is None:
            if self.told.pop(event.key, None) is None:
                return  # nobody was told of it, and a name that is gone is not kept
        else:
            self.told[event.key] = event
        for sink in self.sinks.values():
            sink(event)


class LockFeed:
    """The watches of a process's locks. Thread-safe; sinks are called under its lock and must return at once.

    Its thread reads what is there when the first one asks for a lock, and again after a compaction.
    """

    def __init__(self, gateway: Gateway, *, clock: Clock) -> None:
        self._gateway = gateway
        self._clock = clock
        self._lock = threading.Lock()
        self._numbers = count()
        self._topics: dict[LockName, _Topic] = {}
        self._by_key: dict[str, _Topic] = {}
        self._watch: Watch | None = None
        self._to_read: queue.SimpleQueue[_Topic | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def locks(self) -> int:
        """How many are watched."""
        with self._lock:
            return len(self._topics)

    def subscribe(self, lock: LockName, sink: Sink) -> Subscription:
        """Have each change of the lock's keys delivered, after their present state."""
        with self._lock:
            topic = self._topics.get(lock)
            number = next(self._numbers)
            if topic is None:
                topic = self._topics[lock] = _Topic(lock)
                self._by_key.update(dict.fromkeys(topic.keys, topic))
                self._to_read.put(topic)
            topic.sinks[number] = sink
            for event in topic.told.values():
                sink(event)
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._run, name="lock-feed", daemon=True)
                self._thread.start()
        return Subscription(lambda: self._leave(topic, number))

    def close(self, seconds: float = 2.0) -> None:
        """End it, and wait for its threads."""
        self._stop.set()
        self._to_read.put(None)
        with self._lock:
            watch, thread, self._watch = self._watch, self._thread, None
        if watch is not None:
            watch.close(seconds)
        if thread is not None:
            thread.join(seconds)

    def _leave(self, topic: _Topic, number: int) -> None:
        with self._lock:
            topic.sinks.pop(number, None)
            if topic.sinks or self._topics.get(topic.lock) is not topic:
                return
            del self._topics[topic.lock]
            for key in topic.keys:
                self._by_key.pop(key, None)
                if self._watch is not None:
                    self._watch.leave(key)
            if not self._topics and self._watch is not None:  # a stream without a watch would seem silent
                self._watch.cancel()
                self._watch = None

    def _run(self) -> None:
        while (topic := self._to_read.get()) is not None and not self._stop.is_set():
            attempt = 0
            while self._wanted(topic):
                try:
                    self._follow(topic, self._read(topic))
                    break
                except HistoryLost:
                    return  # whoever reads through the same witness learns it too
                except StoreError as error:
                    _log.debug("lock keys not read", lock=topic.lock.lease, error=str(error))
                    self._clock.wait(self._stop, _PAUSE.delay(attempt))
                    attempt += 1

    def _wanted(self, topic: _Topic) -> bool:
        with self._lock:
            return self._topics.get(topic.lock) is topic and not self._stop.is_set()

    def _read(self, topic: _Topic) -> tuple[WatchTarget, ...]:
        """Tell what is there, and what is gone since it was last told; from where to watch on."""
        keys = topic.keys
        single = [key for key, which in keys.items() if which is not Which.CANDIDATE]
        reply = self._gateway.txn(Txn((), tuple(map(Get, single))), timeout=READ_TIMEOUT)
        prefix = topic.lock.candidates
        candidates = self._gateway.range(prefix, prefix=True, timeout=READ_TIMEOUT)
        with self._lock:
            for key, answer in zip(single, reply.replies, strict=True):
                kv = answer.kv if isinstance(answer, GetReply) else None
                if kv is not None:
                    topic.tell(KeyEvent(keys[key], key, Seen(kv.mod_revision, kv.value)))
                elif key in topic.told and topic.told[key].seen.value is not None:
                    topic.tell(KeyEvent(keys[key], key, Seen(reply.revision, None)))
            found = {kv.key: kv for kv in candidates.kvs}
            for key in [key for key in topic.told if key.startswith(prefix) and key not in found]:
                topic.tell(KeyEvent(Which.CANDIDATE, key, Seen(candidates.revision, None)))
            for kv in found.values():
                topic.tell(KeyEvent(Which.CANDIDATE, kv.key, Seen(kv.mod_revision, kv.value)))
        return (
            *(WatchTarget(key, prefix=False, start_revision=reply.revision + 1) for key in single),
            WatchTarget(prefix, prefix=True, start_revision=candidates.revision + 1),
        )

    def _follow(self, topic: _Topic, targets: Iterable[WatchTarget]) -> None:
        with self._lock:
            if self._topics.get(topic.lock) is not topic or self._stop.is_set():
                return
            if self._watch is None:
                self._watch = self._gateway.watch(tuple(targets), self._take)
                return
            for target in targets:
                self._watch.follow(target)

    def _take(self, item: WatchItem) -> None:
        if not isinstance(item, WatchBatch | WatchCompacted):
            return
        with self._lock:
            topic = self._by_key.get(item.target.key)
            if topic is None:
                return
            if isinstance(item, WatchCompacted):
                self._to_read.put(topic)
                return
            for event in _events(item, topic.keys[item.target.key]):
                topic.tell(event)


def _events(batch: WatchBatch, which: Which) -> Iterator[KeyEvent]:
    for event in batch.events:
        yield KeyEvent(which, event.key, Seen(event.mod_revision, event.value))


class Subscription:
    """One who wants to know; a `lockd.ports.Call`."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave = leave

    def cancel(self) -> None:
        """Hear no more."""
        self._leave()
