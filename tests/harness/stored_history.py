"""Histories made by hand in a real etcd."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockd.ports import Delete, Put, Txn
from tests.harness.history import HistoryMaker

if TYPE_CHECKING:
    from lockd.etcd.gateway import Gateway


class StoredHistory(HistoryMaker):
    """Makes its histories in an etcd."""

    def __init__(self, gateway: Gateway, prefix: str) -> None:
        super().__init__()
        self._gateway = gateway
        self._prefix = prefix

    def commit(self, keys: dict[str, bytes | None]) -> int:
        ops = [
            Delete(f"{self._prefix}/{key}") if value is None else Put(f"{self._prefix}/{key}", value)
            for key, value in keys.items()
        ]
        self.revision = self._gateway.txn(Txn(compares=(), then=tuple(ops)), timeout=10.0).revision
        return self.revision
