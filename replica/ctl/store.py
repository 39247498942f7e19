"""Objects in etcd as a user's tool reads and writes them: by compare-and-swap, each write settled."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lockd.etcd.retry import settle
from lockd.ports import Compare, Delete, Field, Get, GetReply, Put, Txn, TxnReply
from replica.api.keys import kind_prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.etcd.model import Listing
    from lockd.ports import KeyValue, Op
    from replica.api.kinds import Kind

BATCH: Final = 100
"""Objects in one transaction; etcd takes 128."""

BATCH_BYTES: Final = 1_000_000
"""Bytes in one transaction, unless a single object has more; etcd takes 1.5 MiB."""


@dataclass(frozen=True, slots=True)
class Change:
    """Put `value`, or delete the key (None), if it is at `mod_revision` (0: absent)."""

    key: str
    mod_revision: int
    value: bytes | None

    def txn(self) -> Txn:
        change: Op = Delete(self.key) if self.value is None else Put(self.key, self.value)
        return Txn((Compare(self.key, Field.MOD, self.mod_revision),), (change,), (Get(self.key),))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a change.

    Attributes:
        applied: The copy that was answered wrote it.
        found: When it did not: the object as it stands, None when it is absent. An earlier copy may have written it.
    """

    applied: bool
    found: KeyValue | None = None


class ObjectStore:
    """The objects under one prefix.

    Methods raise StoreError classes: OutcomeUnknown when a write may or may not have been applied.

    Args:
        timeout: Seconds for each method call, or for each batch of `write`.
    """

    def __init__(self, gateway: Gateway, *, prefix: str, timeout: float, clock: Clock) -> None:
        self.prefix = prefix
        self._gateway = gateway
        self._timeout = timeout
        self._clock = clock
        self._stop = threading.Event()

    def every(self, kind: Kind, namespace: str = "") -> Listing:
        """All objects of a kind, of one namespace where one is given, at one revision."""
        return self._gateway.list(kind_prefix(self.prefix, kind, namespace), timeout=self._timeout)

    def read(self, keys: Sequence[str]) -> list[KeyValue | None]:
        """Each key as it stands, None where it is absent."""
        found: list[KeyValue | None] = []
        for start in range(0, len(keys), BATCH):
            batch = keys[start : start + BATCH]
            reply = self._settle(Txn((), tuple(Get(key) for key in batch)))
            found += [_found(each) for each in reply.replies]
        return found

    def write(self, changes: Sequence[Change]) -> list[Outcome]:
        """Make a batch of changes (see `batches`) in one transaction, each standing or falling alone."""
        reply = self._settle(Txn((), tuple(change.txn() for change in changes)))
        outcomes = []
        for each in reply.replies:
            if not isinstance(each, TxnReply):
                raise TypeError(f"a nested reply is a TxnReply, not {type(each).__name__}")
            outcomes.append(Outcome(applied=True) if each.succeeded else Outcome(False, _found(each.replies[0])))
        return outcomes

    def _settle(self, txn: Txn) -> TxnReply:
        return settle(
            self._gateway,
            txn,
            clock=self._clock,
            stop=self._stop,
            attempt=self._timeout / 4,
            within=self._timeout,
        )


def batches(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Changes in their order, as many together as one transaction takes."""
    batch: list[Change] = []
    size = 0
    for change in changes:
        more = len(change.key) + len(change.value or b"")
        if batch and (len(batch) == BATCH or size + more > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(change)
        size += more
    if batch:
        yield batch


def _found(reply: object) -> KeyValue | None:
    if not isinstance(reply, GetReply):
        raise TypeError(f"a get is answered by a GetReply, not {type(reply).__name__}")
    return reply.kv
