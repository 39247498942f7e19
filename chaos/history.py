"""etcd's history under a prefix as plain values: every change, in the order that etcd gave it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Change:
    """One key as one revision left it.

    Attributes:
        key: Without the prefix and its slash, such as `pods/default/web-1`.
        revision: The revision of the transaction that made the change.
        value: What was put; None: the key was deleted.
        created: The revision that began this life of the key. For a deletion: the life that ended, 0 when it began
            before the history does.
    """

    key: str
    revision: int
    value: bytes | None
    created: int

    @property
    def kind(self) -> str:
        """The key's first part, such as `pods`."""
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        """The key's other parts, such as `default/web-1`."""
        return self.key.partition("/")[2]


@dataclass(frozen=True, slots=True)
class Stamp:
    """When a watch brought a revision: on CLOCK_BOOTTIME, and in wall seconds, the two read one after the other."""

    now: float
    wall: float


@dataclass(frozen=True, slots=True)
class History:
    """What happened under one prefix.

    Attributes:
        prefix: Such as `/lockd`, without a slash at its end.
        from_revision: The oldest revision known: 1, or where a compaction cut the history off.
        to_revision: The newest revision that is certainly covered.
        baseline: The keys as they stood at `from_revision`, in the order of their revisions; empty when that is 1.
        changes: Everything after it, in revision order; a transaction's changes share their revision.
    """

    prefix: str
    from_revision: int
    to_revision: int
    baseline: tuple[Change, ...]
    changes: tuple[Change, ...]

    @property
    def incomplete(self) -> bool:
        """Was a part compacted away before it could be read?"""
        return self.from_revision > 1

    @property
    def empty(self) -> bool:
        """Has no key ever been under the prefix, as far as is known?"""
        return not (self.baseline or self.changes)

    def everything(self) -> Iterator[Change]:
        """The baseline, then the changes."""
        yield from self.baseline
        yield from self.changes

    def final(self) -> dict[str, Change]:
        """The keys present at the end."""
        return state(self.everything())


def state(changes: Iterable[Change]) -> dict[str, Change]:
    """The keys that stand after `changes`, each with the change that put it."""
    standing: dict[str, Change] = {}
    for change in changes:
        if change.value is None:
            standing.pop(change.key, None)
        else:
            standing[change.key] = change
    return standing


def transactions(changes: Iterable[Change]) -> Iterator[tuple[int, tuple[Change, ...]]]:
    """Changes by revision: a revision is one transaction."""
    for revision, group in groupby(changes, key=lambda change: change.revision):
        yield revision, tuple(group)
