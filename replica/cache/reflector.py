"""The reflector: turns keys and values of one kind into deltas of decoded objects, each value decoded once at most."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec

from component import logs
from lockd.ports import KeyValue
from replica.api.codec import Undecodable
from replica.api.objects import Object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lockd.etcd.model import WatchEvent
    from replica.api.kinds import Kind
    from replica.cache.delta_fifo import DeltaFIFO

T = TypeVar("T", bound=Object)

_log = logs.get(__name__)

_NAME: Final = re.compile("[^/]+")
_NAMESPACED: Final = re.compile("[^/]+/[^/]+")

EXPECTED_LIMIT: Final = 20_000
"""Own writes awaited at most; the oldest is forgotten first, and is then decoded like any other's."""


class _Expected(msgspec.Struct, Generic[T], frozen=True, gc=False):
    value: bytes
    obj: T


class Reflector(Generic[T]):
    """Feeds a kind's delta FIFO from lists and watch events. The watch hub's thread drives it.

    Args:
        prefix: All keys', such as `/lockd`.
        decode: Makes the object of a key and value; what it raises is logged, and the object counts as absent, so that
            every replica sees the same whatever it saw before.
        keep: Objects for which it is false count as absent, such as pods that have ended.
        renew: What decoding a newer value of an object gives, where it can be told sooner; else None.
    """

    def __init__(
        self,
        kind: Kind,
        prefix: str,
        fifo: DeltaFIFO[T],
        *,
        decode: Callable[[KeyValue], T],
        keep: Callable[[T], bool] | None = None,
        renew: Callable[[T, KeyValue], T | None] | None = None,
    ) -> None:
        self.kind = kind
        self._base = f"{prefix}/{kind.plural}/"
        self._is_object = (_NAMESPACED if kind.namespaced else _NAME).fullmatch
        self._fifo = fifo
        self._decode = decode
        self._keep = keep
        self._renew = renew
        self._lock = threading.Lock()
        self._expected: dict[str, _Expected[T]] = {}
        self.decoded = 0
        """Values decoded so far."""
        self.recognised = 0
        """Own writes that came back as expected and were not decoded."""

    def expect(self, key: str, value: bytes, obj: T) -> None:
        """This process is about to put `value` at `key`, which is `obj`: when it comes back, don't decode it.

        Say so before sending. Any other change of the key voids it. Safe to call from any thread.

        Args:
            key: The whole key in etcd.
            obj: What `value` decodes to; the revision is filled in when it comes back.
        """
        with self._lock:
            while len(self._expected) >= EXPECTED_LIMIT:
                del self._expected[next(iter(self._expected))]
            self._expected[key] = _Expected(value, obj)

    def forget(self, key: str) -> None:
        """The write will not come back: it was refused."""
        self._take_expected(key)

    def replace(self, kvs: Iterable[KeyValue], revision: int) -> None:
        """All keys of the kind as listed at `revision`; what hasn't changed since is not decoded again."""
        objects: dict[str, T] = {}
        for kv in kvs:
            path = kv.key[len(self._base) :]
            if not self._is_object(path):
                continue
            known = self._fifo.newest(path)
            obj = known if known is not None and known.mod_revision == kv.mod_revision else self._read(kv)
            if obj is not None:
                objects[path] = obj
        self._fifo.replace(objects, revision)

    def apply(self, events: Iterable[WatchEvent]) -> None:
        """Changes in revision order; what is known already (a watch that resumed repeats itself) is skipped."""
        changes: list[tuple[str, T | None]] = []
        known_by, start = self._fifo.known(), len(self._base)
        for event in events:
            path = event.key[start:]
            known = known_by.get(path)
            if known is None and not self._is_object(path):
                continue
            value = event.value
            if value is None:
                self._take_expected(event.key)
                changes.append((path, None))
            elif known is None or known.mod_revision < event.mod_revision:
                kv = KeyValue(event.key, value, event.mod_revision, event.create_revision, event.version, event.lease)
                changes.append((path, self._read(kv, known)))
        if changes:
            self._fifo.apply(changes)

    def _take_expected(self, key: str) -> _Expected[T] | None:
        if not self._expected:  # in a standby there is nothing, ever
            return None
        with self._lock:
            return self._expected.pop(key, None)

    def _read(self, kv: KeyValue, known: T | None = None) -> T | None:
        expected = self._take_expected(kv.key)
        if expected is not None and expected.value == kv.value:
            self.recognised += 1
            obj = expected.obj.at(kv.mod_revision, expected.obj.token)
        else:
            try:
                renewed = self._renew(known, kv) if known is not None and self._renew is not None else None
                if renewed is None:
                    self.decoded += 1
                    obj = self._decode(kv)
                else:
                    obj = renewed
            except Undecodable as error:
                _log.error("value can't be read", key=error.key, problem=error.problem, revision=kv.mod_revision)
                return None
            except Exception as error:  # noqa: BLE001 - one object that nobody foresaw must not blind the replica
                _log.exception("value can't be read", error, key=kv.key, revision=kv.mod_revision)
                return None
        return obj if self._keep is None or self._keep(obj) else None
