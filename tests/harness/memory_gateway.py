"""A gateway to an etcd in memory, for commands: what they send is applied at once, unless a test says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockd.errors import OutcomeUnknown
from lockd.etcd.model import Listing, RangeReply
from lockd.ports import Delete, Put, Txn
from tests.harness.lock_store import Keyspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockd.errors import StoreError
    from lockd.ports import KeyValue, TxnReply


class _Sent:
    def cancel(self) -> None:
        """It has been applied already."""


class MemoryGateway:
    """What commands need of a gateway.

    Attributes:
        before: Called with each transaction before it is applied: what others do in the meantime.
        lose: Replies to lose from now on; their transactions are applied all the same.
        sent: Transactions sent so far.
    """

    def __init__(self) -> None:
        self.space = Keyspace()
        self.before: Callable[[Txn], None] = lambda _txn: None
        self.lose = 0
        self.sent: list[Txn] = []

    def send(self, txn: Txn, done: Callable[[TxnReply | StoreError], None], *, copy: int = 0, timeout: float) -> _Sent:
        self.sent.append(txn)
        self.before(txn)
        reply = self._apply(txn)
        if self.lose:
            self.lose -= 1
            done(OutcomeUnknown("the reply was lost"))
        else:
            done(reply)
        return _Sent()

    def txn(self, txn: Txn, *, timeout: float) -> TxnReply:
        """One whose reply arrives; for reads at one revision."""
        return self._apply(txn)

    def list(self, prefix: str, *, page: int = 5000, timeout: float) -> Listing:
        return Listing(tuple(kv for kv in self.space.keys if kv.key.startswith(prefix)), self.space.revision)

    def range(self, key: str, *, revision: int = 0, timeout: float) -> RangeReply:
        kv = self.space.get(key)
        return RangeReply((kv,) if kv else (), 1 if kv else 0, more=False, revision=self.space.revision)

    def put(self, key: str, value: bytes) -> None:
        self._apply(Txn((), (Put(key, value),)))

    def remove(self, key: str) -> None:
        self._apply(Txn((), (Delete(key),)))

    def get(self, key: str) -> KeyValue | None:
        return self.space.get(key)

    def _apply(self, txn: Txn) -> TxnReply:
        self.space, reply = self.space.apply(txn)
        return reply
