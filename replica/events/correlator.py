"""The correlator: events that say the same become one series, which is counted here and written now and then. Pure."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from replica.api.events import Event, Reference, Series

if TYPE_CHECKING:
    from collections.abc import Iterable

REFRESH: Final = 360.0
"""Seconds between two writes of a series that goes on."""

SILENCE: Final = 360.0
"""Seconds after which an event that did not come again is forgotten; one that comes later begins anew."""

MOST: Final = 10_000
"""Events remembered at once; beyond that the one that has been silent for longest is forgotten early."""

ONCE: Final = frozenset({"Scheduled"})
"""Reasons that an object can have but once: nothing comes to join such an event, and there are thousands a second."""

Likeness = tuple[str | None, ...]


def likeness(event: Event) -> Likeness:
    """Equal for isomorphic events: the same action, reason and controller, regarding and related the same objects.

    Which revision an object had doesn't count: the scheduler's own word in a pod's status moves it.
    """
    return (event.action, event.reason, event.controller, *_identity(event.regarding), *_identity(event.related))


def _identity(it: Reference | None) -> Likeness:
    return (None,) if it is None else (it.kind, it.namespace, it.name, it.uid, it.api_version)


@dataclass(slots=True, eq=False)
class Entry:
    """An event that is stored, or is to be, with all that came to join it.

    Attributes:
        like: What makes others join it; None for one that nothing joins.
        event: The first one, with the newest note, and the series if there is one; its name once it has been written.
        last: When the newest came.
        revision: Of what is stored; 0: nothing is.
        told: The count that is stored.
        written: When it was stored last.
    """

    like: Likeness | None
    event: Event
    last: float
    revision: int = 0
    told: int = 0
    written: float = 0.0

    @property
    def news(self) -> bool:
        """Does it count more than what is stored says?"""
        return self.event.count != self.told


class Correlator:
    """Says which events are to be written, and when. One for each term; its caller has one thread and the clock.

    The first of its kind is written at once, and so is the second, by which it becomes a series. From then on it is
    written each `refresh` seconds as long as it goes on, and after `silence` seconds without news a last time.

    Args:
        refresh: Seconds.
        silence: Seconds.
        most: Events remembered.
    """

    def __init__(self, *, refresh: float = REFRESH, silence: float = SILENCE, most: int = MOST) -> None:
        self._refresh = refresh
        self._silence = silence
        self._most = most
        self._known: OrderedDict[Likeness, Entry] = OrderedDict()
        """In the order in which they last came."""
        self._series: OrderedDict[Likeness, Entry] = OrderedDict()
        """Those of `_known` that came more than once, in the order in which they were last written."""
        self._evicted: list[Entry] = []
        """Forgotten early, with a count that has not been told."""

    def __len__(self) -> int:
        """Events remembered."""
        return len(self._known)

    def see(self, events: Iterable[Event], now: float) -> list[Entry]:
        """These have happened.

        Returns:
            What is to be written now, each once however often it came.
        """
        wanted: list[Entry] = []
        for event in events:
            if event.reason in ONCE:
                wanted.append(Entry(None, event, now))
                continue
            like = likeness(event)
            entry = self._known.get(like)
            if entry is None:
                entry = self._known[like] = Entry(like, event, now)
                wanted.append(entry)
                self._make_room()
                continue
            entry.last = now
            self._known.move_to_end(like)
            series = Series(entry.event.count + 1, event.time)
            entry.event = replace(entry.event, note=event.note, type=event.type, series=series)
            # One that isn't stored yet is among those wanted, and takes its count with it.
            if entry.revision and series.count == 2:
                wanted.append(entry)
        return wanted

    def due(self, now: float) -> list[Entry]:
        """The series whose time has come: to be written again, or for the last time."""
        due, self._evicted = self._evicted, []
        while self._known and (entry := next(iter(self._known.values()))).last + self._silence <= now:
            self._forget(entry)
            if entry.news:
                due.append(entry)
        while self._series and (entry := next(iter(self._series.values()))).written + self._refresh <= now:
            self._wrote(entry, now)  # whatever becomes of it: the next time is a while from now
            if entry.news:
                due.append(entry)
        return due

    def stored(self, entry: Entry, revision: int, now: float) -> None:
        """An entry has been written as it is now, by the transaction of `revision`."""
        entry.revision = revision
        entry.told = entry.event.count
        if self._remembers(entry):
            self._wrote(entry, now)

    def gone(self, entry: Entry) -> None:
        """What was stored of it is no more, or isn't ours any more: it has to be written under a new name."""
        entry.revision = 0
        entry.event = replace(entry.event, name="")

    def lost(self, entry: Entry) -> None:
        """It could not be written: if nothing is stored of it, the next one begins anew."""
        if not entry.revision and self._remembers(entry):
            self._forget(entry)

    def _remembers(self, entry: Entry) -> bool:
        return entry.like is not None and self._known.get(entry.like) is entry

    def _wrote(self, entry: Entry, now: float) -> None:
        entry.written = now
        if entry.like is not None and entry.event.series is not None:
            self._series[entry.like] = entry
            self._series.move_to_end(entry.like)

    def _forget(self, entry: Entry) -> None:
        if entry.like is not None:
            self._known.pop(entry.like, None)
            self._series.pop(entry.like, None)

    def _make_room(self) -> None:
        while len(self._known) > self._most:
            entry = next(iter(self._known.values()))
            self._forget(entry)
            if entry.revision and entry.news:
                self._evicted.append(entry)
