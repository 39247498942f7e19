"""A history read as what people and leaders wrote: one entry a write, with its author's token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaos.history import state, transactions
from chaos.objects import OBJECT_KINDS, Unreadable, read
from chaos.terms import Terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.history import Change, History
    from chaos.objects import Stored


@dataclass(frozen=True, slots=True)
class Write:
    """One write to one object.

    Attributes:
        token: The author's: a leader's fencing token, or 0 for a user's tool. A deletion has the token of the event
            that its transaction put about the object, else 0.
        before: The object before it; None: absent, or unreadable.
        after: The object after it; None: deleted.
        created: The revision that began the object's life (0: before the history).
    """

    key: str
    revision: int
    token: int
    created: int
    before: Stored | None
    after: Stored | None

    @property
    def kind(self) -> str:
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]


@dataclass(frozen=True, slots=True)
class Ledger:
    """A history and what it says.

    Attributes:
        writes: Every write to an object, in revision order. Expired or removed events are none.
        unreadable: The changes whose value is no stored object, with the reason.
        final: The objects present at the end, by key.
        first: The objects present at the beginning of a cut-off history, by key.
    """

    history: History
    terms: Terms
    writes: tuple[Write, ...]
    unreadable: tuple[tuple[Change, str], ...]
    first: dict[str, Stored]
    final: dict[str, Stored]

    @classmethod
    def of(cls, history: History) -> Ledger:
        reader = _Reader()
        first = dict(reader.standing(history))
        objects = dict(first)
        writes = [
            write
            for revision, changes in transactions(history.changes)
            for write in reader.writes(revision, changes, objects)
        ]
        return cls(
            history=history,
            terms=Terms.of(history),
            writes=tuple(writes),
            unreadable=tuple(reader.unreadable),
            first=first,
            final=objects,
        )


class _Reader:
    """Reads changes in order; remembers those it can't read."""

    def __init__(self) -> None:
        self.unreadable: list[tuple[Change, str]] = []

    def standing(self, history: History) -> Iterator[tuple[str, Stored]]:
        for key, change in state(history.baseline).items():
            stored = self._read(change)
            if stored is not None:
                yield key, stored

    def writes(self, revision: int, changes: tuple[Change, ...], objects: dict[str, Stored]) -> Iterator[Write]:
        """The writes of one transaction; `objects` is brought up to date."""
        after = {change.key: self._read(change) for change in changes}
        authors = {
            uid: stored.token
            for change in changes
            if change.kind == "events" and (stored := after[change.key]) is not None
            for uid in stored.concerns
        }
        for change in changes:
            if change.kind not in OBJECT_KINDS:
                continue
            before = objects.pop(change.key, None)
            stored = after[change.key]
            if change.value is None:
                if change.kind != "events":
                    token = authors.get(before.uid, 0) if before is not None and before.uid else 0
                    yield Write(change.key, revision, token, change.created, before, None)
            elif stored is not None:
                objects[change.key] = stored
                yield Write(change.key, revision, stored.token, change.created, before, stored)

    def _read(self, change: Change) -> Stored | None:
        if change.value is None or change.kind not in OBJECT_KINDS:
            return None
        try:
            return read(change)
        except Unreadable as error:
            self.unreadable.append((change, str(error)))
            return None
