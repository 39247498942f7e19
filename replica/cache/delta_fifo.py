"""The delta FIFO: what changed of each key since it was last popped, and how far the watch had come."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import msgspec

from component.clock import LONGEST_WAIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from component.clock import Clock

T = TypeVar("T")


class DeltaType(Enum):
    """What happened to an object."""

    ADDED = "Added"
    UPDATED = "Updated"
    DELETED = "Deleted"
    REPLACED = "Replaced"
    """It exists after a list; whether it changed shows in its revision."""
    SYNC = "Sync"
    """Nothing happened; a listener asked to be told again."""


class DeletedFinalStateUnknown(NamedTuple, Generic[T]):
    """The tombstone of an object whose deletion was seen only by its absence from a list.

    Attributes:
        object: Its last known state, which may not be its final one.
    """

    object: T


class Delta(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """One change of one object; a deletion has the object's last state, or a tombstone."""

    type: DeltaType
    object: T | DeletedFinalStateUnknown[T]


@dataclass(frozen=True, slots=True)
class Batch(Generic[T]):
    """What one pop brings.

    Attributes:
        deltas: Per key, in the order in which the keys came in, its deltas, oldest first.
        revision: Once these are applied, all changes up to this revision are; None when no marker was among them.
    """

    deltas: tuple[tuple[str, Sequence[Delta[T]]], ...] = ()
    revision: int | None = None


class DeltaFIFO(Generic[T]):
    """Keys that changed, each once, with their deltas; between them markers that say how far the watch had come.

    One thread puts in (the watch hub's), one takes out (the informer's). A key that changes again before it is popped
    keeps its place, which is before any marker that was put since: what a marker promises stays true.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._closed = False
        self._deltas: dict[str, list[Delta[T]]] = {}
        """What waits, in the order in which the keys came in."""
        self._taken = 0
        """Keys popped so far."""
        self._markers: deque[tuple[int, int]] = deque()
        """How many keys are to be popped before each marker, of all that ever were, and its revision."""
        self._newest: dict[str, T] = {}
        """The objects as the putting side knows them; the indexer follows when they are popped."""
        self._resting = False
        """The consumer has applied all it took and waits for more."""
        self._listed: int | None = None
        """The revision of the first list, once there was one."""
        self._popped = 0
        """The highest marker popped."""

    # --- putting in

    def newest(self, key: str) -> T | None:
        """An object as it was last put in, popped or not; None when it doesn't exist."""
        return self._newest.get(key)

    def known(self) -> Mapping[str, T]:
        """All objects as they were last put in: for the thread that puts in, until it does so again."""
        return self._newest

    def all_newest(self) -> dict[str, T]:
        """All objects as they were last put in."""
        with self._changed:
            return dict(self._newest)

    def add(self, key: str, obj: T) -> None:
        """An object exists (now, or still): Added, or Updated when it was known."""
        self.apply(((key, obj),))

    update = add

    def delete(self, key: str) -> None:
        """An object is gone; nothing happens when it wasn't known."""
        self.apply(((key, None),))

    def apply(self, changes: Iterable[tuple[str, T | None]]) -> None:
        """Put in many changes at once: the new object, or None for one that is gone."""
        with self._changed:
            newest, waiting = self._newest, self._deltas
            for key, obj in changes:
                known = newest.get(key)
                if obj is not None:
                    newest[key] = obj
                    delta = Delta(DeltaType.ADDED if known is None else DeltaType.UPDATED, obj)
                    if key in waiting:
                        self._put(key, delta)
                    else:
                        waiting[key] = [delta]
                elif known is not None:
                    del newest[key]
                    self._put(key, Delta(DeltaType.DELETED, known))
            if waiting:
                self._changed.notify()

    def replace(self, objects: Mapping[str, T], revision: int) -> None:
        """A list as of `revision` is all there is: Replaced for what it has, Deleted with a tombstone for what is gone.

        The revision's marker follows by `mark`, as for a watch.
        """
        with self._changed:
            for key, known in self._newest.items():
                if key not in objects:
                    self._put(key, Delta(DeltaType.DELETED, DeletedFinalStateUnknown(known)))
            for key, obj in objects.items():
                self._put(key, Delta(DeltaType.REPLACED, obj))
            self._newest = dict(objects)
            if self._listed is None:
                self._listed = revision
            self._changed.notify()

    def resync(self) -> None:
        """Put in a Sync for every object that has no delta waiting."""
        with self._changed:
            for key, obj in self._newest.items():
                if key not in self._deltas:
                    self._put(key, Delta(DeltaType.SYNC, obj))
            self._changed.notify()

    def mark(self, revision: int) -> bool:
        """All changes up to `revision` have been put in.

        Returns:
            True when the marker is through already, since nothing waits before it and the consumer is at rest: the
            caller hands it on. Else it is queued and comes with a batch.
        """
        with self._changed:
            if self._resting and not self._waits:
                self._popped = max(self._popped, revision)
                return True
            behind = self._taken + len(self._deltas)
            if self._markers and self._markers[-1][0] == behind:
                revision = max(revision, self._markers.pop()[1])
            self._markers.append((behind, revision))
            self._changed.notify()
            return False

    # --- taking out

    def pop_batch(self, most: int, stop: threading.Event, timeout: float, clock: Clock) -> Batch[T]:
        """Take the deltas of up to `most` keys; whoever calls again says that all taken before is applied.

        Args:
            timeout: Seconds to wait at most while empty.

        Returns:
            A batch; an empty one at the timeout, or when stopped or closed.
        """
        end = clock.now() + timeout
        with self._changed:
            self._resting = True
            while not self._waits:
                left = end - clock.now()
                if self._closed or stop.is_set() or left <= 0:
                    return Batch()
                self._changed.wait(min(left, LONGEST_WAIT))
            self._resting = False
            if len(self._deltas) <= most:
                taken, self._deltas = tuple(self._deltas.items()), {}
            else:
                taken = tuple([(key, self._deltas.pop(key)) for key in tuple(islice(self._deltas, most))])
            self._taken += len(taken)
            revision = None
            # A marker right behind the last key is taken with it: it says that these keys are all.
            while self._markers and self._markers[0][0] <= self._taken:
                revision = self._popped = max(self._popped, self._markers.popleft()[1])
            return Batch(taken, revision)

    @property
    def has_synced(self) -> bool:
        """The first list has been popped whole."""
        with self._changed:
            return self._listed is not None and self._popped >= self._listed

    def close(self) -> None:
        """Wake the consumer, which finds nothing more once it has popped what is here."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        """Closed, and everything has been popped."""
        with self._changed:
            return self._closed and not self._waits

    def __len__(self) -> int:
        """Keys that wait."""
        with self._changed:
            return len(self._deltas)

    @property
    def _waits(self) -> bool:
        return bool(self._deltas or self._markers)

    def _put(self, key: str, delta: Delta[T]) -> None:
        waiting = self._deltas.get(key)
        if waiting is None:
            self._deltas[key] = [delta]
        elif delta.type is DeltaType.DELETED and waiting[-1].type is DeltaType.DELETED:
            # Two deletions in a row are one: the one that knows the final state says more.
            if isinstance(waiting[-1].object, DeletedFinalStateUnknown):
                waiting[-1] = delta
        else:
            waiting.append(delta)
