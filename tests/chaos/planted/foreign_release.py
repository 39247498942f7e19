"""A replica that gives the lease back at its end without a look at whose it is, as client-go does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from lockd import store
from lockd.candidacy import Candidacy
from lockd.ports import Release
from tests.chaos.planted.patching import patch, start

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockd.ports import LockName, Put, Transaction, Txn


def blind(to_txn: Callable[..., Txn]) -> Callable[..., Txn]:
    def made(lock: LockName, transaction: Transaction, riders: tuple[Put, ...] = ()) -> Txn:
        if not isinstance(transaction, Release):
            return to_txn(lock, transaction, riders)
        return msgspec.structs.replace(to_txn(lock, transaction), compares=())

    return made


def whatever_happened(end: Callable[..., Any]) -> Callable[..., Any]:
    def ended(self: Candidacy, reason: object, now: float) -> Candidacy:
        after: Candidacy = end(self, reason, now)
        return after if after.ending is None else replace(after, ending=replace(after.ending, release=True))

    return ended


def plant() -> None:
    patch(store, "to_txn", "lock transaction riders", blind)
    patch(Candidacy, "end", "self reason now", whatever_happened)


if __name__ == "__main__":
    start(plant)
