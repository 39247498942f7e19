"""The events of one term: their keys, which are never used again, and their stored form."""

from __future__ import annotations

import uuid
from itertools import count
from typing import TYPE_CHECKING, Final

import msgspec

from lockd.fencing import ObjectWrite
from lockd.ports import Put
from replica.api.codec import encode
from replica.api.keys import kind_prefix, object_key
from replica.api.kinds import EVENT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockd.fencing import Token
    from replica.api.events import Event

UID_OF_TERM: Final = 24
"""Characters of an event's uid that all events of a term have; the rest are twelve digits."""


class TermEvents:
    """Names a term's events `<token>-<number>` and encodes them. One for each term: two would use the same names.

    Thread-safe.
    """

    def __init__(self, prefix: str, token: Token) -> None:
        self.token = token
        self._number = int(token)
        self._name = f"{self._number}-"
        # Drawn once: no two terms have it in common, and the events of one are told apart by their numbers.
        self._uid = str(uuid.uuid4())[:UID_OF_TERM]
        self._prefix = prefix
        self._folders: dict[str, str] = {}
        self._numbers = count(1)

    def named(self, event: Event) -> Event:
        """The event under a name of its own; one that has a name keeps it."""
        if event.name:
            return event
        number = next(self._numbers)
        return msgspec.structs.replace(
            event, name=f"{self._name}{number}", uid=f"{self._uid}{number:012x}", token=self._number
        )

    def put(self, event: Event, lease: int) -> Put:
        """The event as a rider of another write: a release, or the deletion of the object that it is about."""
        named = self.named(event)
        folder = self._folders.get(named.namespace) or self._folder(named.namespace)
        return Put(folder + named.name, encode(named.manifest(), token=self._number), lease)

    def write(self, event: Event, lease: int, *, mod_revision: int = 0) -> ObjectWrite:
        """The event as an object of a guarded write: created, or (`mod_revision`) in the place of its older state."""
        put = self.put(event, lease)
        return ObjectWrite(put.key, mod_revision, put.value, lease)

    def create(self, events: Iterable[Event], lease: int) -> ObjectWrite:
        """New events, at least one, as one object of a guarded write: the first, with the others as its riders.

        All are created, or none. No other writes have these names, so that the first of them tells whether a copy of
        this one has been applied: to compare them one by one would cost etcd as much again as to put them.
        """
        first, *others = [self.put(event, lease) for event in events]
        return ObjectWrite(first.key, 0, first.value, lease, tuple(others))

    def _folder(self, namespace: str) -> str:
        """What the keys of a namespace's events begin with."""
        object_key(self._prefix, EVENT, self._name, namespace)  # refuses what would be no key
        folder = self._folders[namespace] = kind_prefix(self._prefix, EVENT, namespace)
        return folder
