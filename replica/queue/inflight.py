"""Pods whose scheduling cycle runs, and what happened meanwhile."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from replica.queue.hints import ClusterEvent


class Identified(Protocol):
    """Something with a name that others may have after it, and a uid that nothing else has."""

    @property
    def path(self) -> str: ...

    @property
    def uid(self) -> str: ...


P = TypeVar("P", bound=Identified)


class Happening(msgspec.Struct, frozen=True, gc=False):
    """A cluster event with the object before and after it (either may be None)."""

    event: ClusterEvent
    old: Any = None
    new: Any = None


@dataclass(frozen=True, slots=True)
class Landed(Generic[P]):
    """What a pod comes back to after its cycle.

    Attributes:
        newest: The pod under this name as it is now.
        deleted: It was deleted meanwhile, and there is none.
        replaced: It was deleted meanwhile, and `newest` is another one of the same name.
        happenings: Cluster events since it was popped, oldest first.
        missed: Older ones were dropped since too many came in: one of them may have been of interest.
    """

    newest: P
    deleted: bool
    replaced: bool
    happenings: tuple[Happening, ...]
    missed: bool


@dataclass(slots=True)
class _Flight(Generic[P]):
    start: int
    uid: str
    newest: P
    deleted: bool = False


class InFlight(Generic[P]):
    """Pods in their cycles beside the events since the oldest of them took off.

    An event that comes in while a pod is being tried may be the very one that helps it; without a memory the pod would
    go to the unschedulable pool and sleep through its chance. Not thread-safe: the queue has the lock.

    Args:
        limit: Events kept at most; a pod that waits long for its permission must not fill the memory.
    """

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._flights: dict[str, _Flight[P]] = {}
        self._happenings: deque[Happening] = deque()
        self._counts: Counter[str] = Counter()
        self._first = 0
        """The number of the oldest happening kept."""

    def __len__(self) -> int:
        return len(self._flights)

    def __contains__(self, key: object) -> bool:
        return key in self._flights

    @property
    def happenings(self) -> int:
        """How many events are kept."""
        return len(self._happenings)

    def counts(self) -> dict[str, int]:
        """How many events are kept, by event; one that was kept once stays, at 0."""
        return dict(self._counts)

    def start(self, pod: P) -> None:
        self._flights[pod.path] = _Flight(self._first + len(self._happenings), pod.uid, pod)

    def record(self, happening: Happening) -> None:
        """Remember an event for the pods in flight; with none there is nothing to remember it for."""
        if self._flights:
            self._happenings.append(happening)
            self._counts[str(happening.event)] += 1
            if len(self._happenings) > self._limit:
                self._drop()

    def update(self, key: str, pod: P) -> P | None:
        """Keep the newest state of a pod in flight; returns the one before, or None when it isn't in flight."""
        flight = self._flights.get(key)
        if flight is None:
            return None
        before, flight.newest, flight.deleted = flight.newest, pod, False
        return before

    def delete(self, key: str) -> None:
        if flight := self._flights.get(key):
            flight.deleted = True

    def finish(self, key: str) -> Landed[P] | None:
        """End a pod's cycle; None when it wasn't in flight."""
        flight = self._flights.pop(key, None)
        if flight is None:
            return None
        skip = flight.start - self._first
        since = tuple(islice(self._happenings, max(0, skip), None))
        self._prune()
        replaced = not flight.deleted and flight.newest.uid != flight.uid
        return Landed(flight.newest, flight.deleted, replaced, since, missed=skip < 0)

    def forget(self, key: str) -> P | None:
        """End a pod's cycle for good; returns another pod that came under its name meanwhile, or None."""
        flight = self._flights.pop(key, None)
        if flight is None:
            return None
        self._prune()
        return flight.newest if not flight.deleted and flight.newest.uid != flight.uid else None

    def _prune(self) -> None:
        # Flights are kept in the order of their start, so the first is the oldest.
        oldest = next(iter(self._flights.values()), None)
        keep_from = oldest.start if oldest is not None else self._first + len(self._happenings)
        while self._first < keep_from:
            self._drop()

    def _drop(self) -> None:
        """Forget the oldest happening."""
        self._counts[str(self._happenings.popleft().event)] -= 1
        self._first += 1
