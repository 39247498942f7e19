"""The marker key that allows faults."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

from chaos.cluster.supervisor import MARKER
from lockd.etcd.retry import settle
from lockd.ports import Compare, Field, Put, Txn
from lockd.record import display_time

if TYPE_CHECKING:
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway


def mark(gateway: Gateway, prefix: str, by: str, *, clock: Clock) -> None:
    """Put it, if nobody has.

    Raises:
        StoreError: etcd took it not.
    """
    key = f"{prefix}/{MARKER}"
    value = json.dumps({"by": by, "since": display_time(clock.wall())}).encode()
    absent = Compare(key, Field.MOD, 0)
    put = Txn(compares=(absent,), then=(Put(key, value),))
    settle(gateway, put, clock=clock, stop=threading.Event(), attempt=1.0, within=10.0)
