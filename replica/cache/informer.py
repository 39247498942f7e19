"""The shared informer: a kind's delta FIFO, its indexer and its listeners, kept by one thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from component.clock import SystemClock
from replica.api.objects import Object
from replica.cache.delta_fifo import DeletedFinalStateUnknown, DeltaFIFO, DeltaType
from replica.cache.indexer import NAMESPACE, Indexer
from replica.cache.listener import Added, Deleted, Listener, Updated
from replica.cache.lister import Lister
from replica.cache.metrics import labels_of, processing_latency
from replica.cache.reflector import Reflector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from component.clock import Clock
    from component.lifecycle import Group
    from lockd.etcd.model import WatchEvent
    from lockd.ports import KeyValue
    from replica.api.kinds import Kind
    from replica.cache.barrier import Barrier
    from replica.cache.delta_fifo import Batch, Delta
    from replica.cache.indexer import IndexFunction
    from replica.cache.listener import Handler, Notification
    from replica.cache.mutation import MutationDetector

T = TypeVar("T", bound=Object)

BATCH = 2048
"""Keys applied under one lock."""


class SharedInformer(Generic[T]):
    """One kind's cache, however many read it.

    The watch hub calls `replace`, `apply` and `mark` from its thread; the informer's own thread updates the indexer and
    then tells the listeners, each of which has a buffer and a thread of its own.

    Args:
        barrier: Joined by the cache itself, and by each listener that asks.
        keep: Objects for which it is false are left out, such as pods that have ended.
        renew: As a reflector's.
        indexes: Beside the one by namespace.
        resync: Seconds between two resyncs for listeners that want them; 0 for none.
        detector: Told of each object, to find those that somebody changes; None outside of tests.
    """

    def __init__(
        self,
        kind: Kind,
        prefix: str,
        *,
        decode: Callable[[KeyValue], T],
        barrier: Barrier,
        group: Group,
        keep: Callable[[T], bool] | None = None,
        renew: Callable[[T, KeyValue], T | None] | None = None,
        indexes: Mapping[str, IndexFunction[T]] | None = None,
        resync: float = 0.0,
        detector: MutationDetector | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.kind: Kind = kind
        self.indexer: Indexer[T] = Indexer({NAMESPACE: lambda obj: (obj.namespace,), **(indexes or {})})
        self.lister: Lister[T] = Lister(self.indexer)
        self._fifo: DeltaFIFO[T] = DeltaFIFO()
        self.reflector: Reflector[T] = Reflector(kind, prefix, self._fifo, decode=decode, keep=keep, renew=renew)
        self._barrier = barrier
        self._group = group
        self._clock = clock or SystemClock()
        self._detector = detector
        self._latency = processing_latency()
        self._labels = labels_of(kind)
        self._resync = resync
        self._next_resync = self._clock.now() + resync
        self._consumer = barrier.join(f"cache {kind.plural}")
        self._gate = threading.Lock()
        """Held while a batch goes to the indexer and on to the listeners, so that a late one misses nothing."""
        self._listeners: tuple[Listener[T], ...] = ()
        self._passed = 0
        self._started = False
        self._closed = False

    # --- for those who read

    @property
    def has_synced(self) -> bool:
        """The indexer holds all of the first list."""
        return self._fifo.has_synced and self._passed > 0

    @property
    def passed(self) -> int:
        """The indexer holds all changes up to this revision."""
        return self._passed

    @property
    def waiting(self) -> int:
        """Keys whose deltas have not been applied yet."""
        return len(self._fifo)

    def add_handler(
        self, handler: Handler[T], *, name: str, barrier: bool = False, resync: bool = False
    ) -> Listener[T]:
        """Tell `handler` of every change from now on, after an add for everything cached already.

        Args:
            name: For logs, threads and the barrier.
            barrier: Does scheduling read what this handler keeps? Then the barrier waits for it.

        Returns:
            Its listener: `has_synced`, `passed`, and what `remove_handler` takes.
        """
        label = f"{self.kind.plural} {name}"
        consumer = self._barrier.join(label) if barrier else None
        listener: Listener[T] = Listener(label, handler, consumer=consumer, resync=resync, detector=self._detector)
        with self._gate:
            listener.put(Added(obj, initial=True) for obj in self.indexer.values())
            if self._passed:
                listener.synced_by(self._passed)
                listener.mark(self._passed)
            self._listeners = (*self._listeners, listener)
            if self._closed:
                listener.close()
            elif self._started:
                self._spawn(listener)
        return listener

    def remove_handler(self, listener: Listener[T]) -> None:
        """Tell this one nothing more, and end its thread."""
        with self._gate:
            self._listeners = tuple(each for each in self._listeners if each is not listener)
        listener.close()

    # --- for the group's owner

    def start(self) -> None:
        """Start the threads: one for the kind and one for each listener. A second start does nothing."""
        with self._gate:
            if self._started or self._closed:
                return
            self._started = True
            self._group.spawn(f"informer {self.kind.plural}", self.run, self._group.stop)
            for listener in self._listeners:
                self._spawn(listener)

    def close(self) -> None:
        """End all threads, the listeners' too."""
        with self._gate:
            self._closed = True
            listeners = self._listeners
        self._fifo.close()
        for listener in listeners:
            listener.close()

    def run(self, stop: threading.Event) -> None:
        """Apply deltas until stopped or closed: the kind's thread."""
        while not stop.is_set() and not self._fifo.closed:
            self.step(stop, timeout=self._resync or 1.0)

    def step(self, stop: threading.Event, timeout: float) -> None:
        """Apply what is there, waiting up to `timeout` seconds for it."""
        batch = self._fifo.pop_batch(BATCH, stop, timeout, self._clock)
        if batch.deltas:
            began = self._clock.now()
            self._apply(batch)
            self._latency.record(self._clock.now() - began, *self._labels)
        elif batch.revision is not None:
            self._apply(batch)
        if self._resync and (now := self._clock.now()) >= self._next_resync:
            self._next_resync = now + self._resync
            self._fifo.resync()

    # --- for the watch hub

    def replace(self, kvs: Sequence[KeyValue], revision: int) -> None:
        """All keys of the kind, as listed at `revision`."""
        self.reflector.replace(kvs, revision)

    def apply(self, events: Sequence[WatchEvent]) -> None:
        """Changes of keys of the kind, in revision order."""
        self.reflector.apply(events)

    def mark(self, revision: int) -> None:
        """All changes up to `revision` have come: send the marker after them."""
        if self._fifo.mark(revision):
            with self._gate:
                self._pass(revision)

    def revisions(self) -> dict[str, int]:
        """The mod revision of each object as the hub last saw it, which the indexer may be about to follow."""
        return {path: obj.mod_revision for path, obj in self._fifo.all_newest().items()}

    # --- inside

    def _spawn(self, listener: Listener[T]) -> None:
        self._group.spawn(f"listener {listener.name}", listener.run, self._group.stop)

    def _apply(self, batch: Batch[T]) -> None:
        with self._gate:
            told: list[Notification] = []
            with self.indexer.lock:
                for key, deltas in batch.deltas:
                    for delta in deltas:
                        self._store(key, delta, told)
            if told:
                for listener in self._listeners:
                    listener.put(told)
            if batch.revision is not None:
                self._pass(batch.revision)

    def _store(self, key: str, delta: Delta[T], told: list[Notification]) -> None:
        """Apply a delta to the indexer, whose lock is held, and add what listeners are to be told of it."""
        obj = delta.object
        if isinstance(obj, DeletedFinalStateUnknown) or delta.type is DeltaType.DELETED:
            self._take_out(key, delta, told)
            return
        old = self.indexer.swap(key, obj)
        if self._detector is not None:
            self._detector.see(f"{self.kind.plural} {key}", obj)
        if old is None:
            told.append(Added(obj, not self._passed))
        elif old.create_revision != obj.create_revision:
            # Another object of the same name: its deletion fell into a gap that a list closed.
            told += (Deleted(old, stale=True), Added(obj, initial=False))
        elif delta.type is DeltaType.UPDATED:
            told.append(Updated(old, obj))
        else:
            replaced = delta.type is DeltaType.REPLACED and old.mod_revision == obj.mod_revision
            told.append(Updated(old, obj, sync=replaced or delta.type is DeltaType.SYNC))

    def _take_out(self, key: str, delta: Delta[T], told: list[Notification]) -> None:
        if delta.type is not DeltaType.DELETED:
            raise TypeError(f"a tombstone stands for a deletion, not for {delta.type.value}")
        old = self.indexer.delete(key)
        if self._detector is not None:
            self._detector.see(f"{self.kind.plural} {key}", None)
        if old is not None:
            told.append(Deleted(old, isinstance(delta.object, DeletedFinalStateUnknown)))

    def _pass(self, revision: int) -> None:
        first = not self._passed
        self._passed = max(self._passed, revision)
        self._consumer.passed(self._passed)
        for listener in self._listeners:
            if first:
                listener.synced_by(self._passed)
            listener.mark(self._passed)
