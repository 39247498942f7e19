"""How far a watch has come: a pure core that turns etcd's responses into items, and tells where to resume.

A response applies when it is complete: pieces of one that etcd split are kept until the last is there, and thrown away
when the stream breaks before it. So a resumed watch neither repeats an event nor leaves one out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final

from lockd.etcd.model import WatchBatch, WatchCompacted, WatchEvent, WatchProgress, WatchTarget

if TYPE_CHECKING:
    from collections.abc import Iterable

STREAM_WIDE: Final = -1
"""The watch id of a response that concerns all targets of a stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A WatchResponse. `revision` is its header's; the rest is named as in etcd's rpc.proto."""

    watch_id: int
    revision: int = 0
    created: bool = False
    canceled: bool = False
    compact_revision: int = 0
    cancel_reason: str = ""
    fragment: bool = False
    events: tuple[WatchEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """etcd won't watch (any more), for a reason in its own words."""

    reason: str


@dataclass(frozen=True, slots=True)
class Create:
    """A watch to create on the stream: of `target`, from `start_revision` (0: from now), with this id."""

    watch_id: int
    target: WatchTarget
    start_revision: int


Outcome = WatchBatch | WatchProgress | WatchCompacted | Refused


@dataclass(slots=True)
class _Place:
    target: WatchTarget
    following: int
    """The first revision not seen; 0 for now."""
    created: bool = False
    lost: bool = False
    pieces: list[WatchEvent] = field(default_factory=list)


class Cursor:
    """The places of several targets on one stream after another. Not thread-safe."""

    def __init__(self, targets: Iterable[WatchTarget]) -> None:
        self._places = [_Place(target, target.start_revision) for target in targets]
        self._open: dict[int, _Place] = {}
        self._ids = count(1)

    def applied(self, target: WatchTarget) -> int:
        """The revision up to which everything about `target` was delivered; 0 before anything is known."""
        place = self._find(target)
        return max(0, place.following - 1) if place else 0

    def open(self) -> tuple[Create, ...]:
        """Begin a new stream: what to create on it."""
        self._open = {}
        return tuple(self._create(place) for place in self._places if not place.lost)

    def follow(self, target: WatchTarget) -> Create:
        """Watch `target` from its start revision on, in place of the same key's place before."""
        place = self._find(target)
        if place is None:
            place = _Place(target, target.start_revision)
            self._places.append(place)
        self._open = {known: other for known, other in self._open.items() if other is not place}
        place.target, place.following, place.lost = target, target.start_revision, False
        return self._create(place)

    def leave(self, key: str) -> tuple[int, ...]:
        """Watch this key no more; the ids of the watches to cancel on the stream that is open."""
        gone = [place for place in self._places if place.target.key == key]
        self._places = [place for place in self._places if place not in gone]
        ids = tuple(known for known, place in self._open.items() if place in gone)
        for known in ids:
            del self._open[known]
        return ids

    def take(self, frame: Frame, *, ordered: bool) -> tuple[Outcome, ...]:
        """Take in a response.

        Args:
            ordered: Does the server send progress after all events up to it? Where not, it says nothing.
        """
        if frame.watch_id == STREAM_WIDE:
            if frame.canceled:  # before created: a refused watch has both
                return (Refused(frame.cancel_reason),)
            return self._progress(tuple(self._open.values()), frame.revision) if ordered else ()
        place = self._open.get(frame.watch_id)
        if place is None:
            return ()
        if frame.canceled:
            return self._cancelled(place, frame)
        if frame.created:
            place.created = True
            place.following = place.following or frame.revision + 1
            return ()
        if not frame.events and not place.pieces:
            return self._progress((place,), frame.revision) if ordered else ()
        place.pieces.extend(_from(place.following, frame.events))
        if frame.fragment or not place.pieces:
            return ()
        events, place.pieces = tuple(place.pieces), []
        place.following = events[-1].mod_revision + 1
        return (WatchBatch(place.target, events, events[-1].mod_revision),)

    def _find(self, target: WatchTarget) -> _Place | None:
        return next((p for p in self._places if (p.target.key, p.target.prefix) == (target.key, target.prefix)), None)

    def _create(self, place: _Place) -> Create:
        place.created, place.pieces = False, []
        watch_id = next(self._ids)
        self._open[watch_id] = place
        return Create(watch_id, place.target, place.following)

    def _progress(self, places: Iterable[_Place], revision: int) -> tuple[Outcome, ...]:
        moved = [p for p in places if p.created and not p.pieces and revision >= p.following]
        for place in moved:
            place.following = revision + 1
        return tuple(WatchProgress(place.target, revision) for place in moved)

    def _cancelled(self, place: _Place, frame: Frame) -> tuple[Outcome, ...]:
        del self._open[frame.watch_id]
        if not frame.compact_revision:
            return (Refused(frame.cancel_reason),)
        place.lost = True
        return (WatchCompacted(place.target, frame.compact_revision),)


def _from(revision: int, events: tuple[WatchEvent, ...]) -> Iterable[WatchEvent]:
    """Those of a revision or a later one; they are in the order of revisions, and as a rule it is all of them."""
    if not events or events[0].mod_revision >= revision:
        return events
    return [event for event in events if event.mod_revision >= revision]


_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_ORDERED_FROM: Final = {(3, 4): 25, (3, 5): 8}


def progress_is_ordered(version: str) -> bool:
    """Does an etcd of this version send progress only after all events up to it? From 3.4.25 and 3.5.8 on."""
    match = _VERSION.match(version)
    if not match:
        return False
    major, minor, patch = map(int, match.groups())
    return patch >= _ORDERED_FROM.get((major, minor), 0 if (major, minor) > (3, 5) else patch + 1)
