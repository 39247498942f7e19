"""Following objects of a kind: each change of them in order, over breaks of the watch and compactions."""

from __future__ import annotations

import contextlib
import queue
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lockd.errors import HistoryLost, PermissionDenied
from lockd.etcd.model import WatchBatch, WatchCompacted, WatchInterrupted, WatchTarget
from lockd.ports import KeyValue
from replica.api.keys import kind_prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from threading import Event

    from lockd.errors import StoreError
    from lockd.etcd.gateway import Gateway
    from lockd.etcd.model import WatchItem
    from replica.api.kinds import Kind
    from replica.ctl.store import ObjectStore

STEP: Final = 0.5
"""Seconds between two looks at whether to stop."""

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


@dataclass(frozen=True, slots=True)
class Change:
    """What became of an object.

    Attributes:
        type: `ADDED`, `MODIFIED` or `DELETED`.
        kv: As it stands, or as it last stood.
    """

    type: str
    kv: KeyValue


class Known:
    """Objects as they were last seen. Pure: takes what a watch or a list tells, and says what that changed."""

    def __init__(self, kvs: Iterable[KeyValue]) -> None:
        self._objects = {kv.key: kv for kv in kvs}

    def put(self, kv: KeyValue) -> Change:
        before = self._objects.get(kv.key)
        self._objects[kv.key] = kv
        return Change(ADDED if before is None else MODIFIED, kv)

    def delete(self, key: str) -> Change | None:
        """None if it was not known."""
        before = self._objects.pop(key, None)
        return Change(DELETED, before) if before is not None else None

    def relisted(self, kvs: Iterable[KeyValue]) -> Iterator[Change]:
        """What must have happened for the objects to stand so."""
        standing = {kv.key: kv for kv in kvs}
        for key in [key for key in self._objects if key not in standing]:
            if (change := self.delete(key)) is not None:
                yield change
        for key, kv in standing.items():
            before = self._objects.get(key)
            if before is None or before.mod_revision != kv.mod_revision:
                yield self.put(kv)


def follow(
    gateway: Gateway,
    store: ObjectStore,
    kind: Kind,
    namespace: str,
    *,
    known: Known,
    revision: int,
    stop: Event,
    interrupted: Callable[[StoreError], None],
) -> Iterator[Change]:
    """Every change of a kind's objects after `revision`, until `stop` is set.

    Args:
        namespace: "" for all of them.
        known: The objects as of `revision`.
        interrupted: Told why, when the watch breaks; it resumes by itself.

    Raises:
        HistoryLost: etcd was restored.
        PermissionDenied: This user may not read them.
        StoreError: A list after a compaction failed.
    """
    prefix = kind_prefix(store.prefix, kind, namespace if kind.namespaced else "")
    items: queue.Queue[WatchItem] = queue.Queue()
    watch = gateway.watch([WatchTarget(prefix, prefix=True, start_revision=revision + 1)], items.put)
    with contextlib.closing(watch):
        while not stop.is_set():
            try:
                item = items.get(timeout=STEP)
            except queue.Empty:
                continue
            match item:
                case WatchBatch():
                    for event in item.events:
                        if event.value is None:
                            change = known.delete(event.key)
                        else:
                            kv = KeyValue(event.key, event.value, event.mod_revision, event.create_revision)
                            change = known.put(kv)
                        if change is not None:
                            yield change
                case WatchCompacted():
                    listing = store.every(kind, namespace if kind.namespaced else "")
                    yield from known.relisted(listing.kvs)
                    watch.follow(WatchTarget(prefix, prefix=True, start_revision=listing.revision + 1))
                case WatchInterrupted(error=HistoryLost() | PermissionDenied() as error):
                    raise error
                case WatchInterrupted(error=error):
                    interrupted(error)
