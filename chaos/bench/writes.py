"""How many objects a second guarded transactions write on an etcd of three members with nothing else to do."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Final

from chaos.bench.objects import TIMEOUT
from chaos.bench.result import Run
from chaos.errors import Interrupted
from lockd.errors import StoreError
from lockd.etcd.connection import Connection
from lockd.etcd.embedded import Embedded
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from lockd.fencing import Guard, GuardedWrite, ObjectWrite, Token
from lockd.ports import Put, Txn

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.bench.rig import Bench
    from lockd.ports import TxnReply

TERM: Final = b'{"holderIdentity":"bench","acquisition":"1"}'
MANIFEST: Final = b"x" * 900
"""As long as a small pod's."""

BATCH: Final = 120
IN_FLIGHT: Final = 4
TRANSACTIONS: Final = 300


def run(bench: Bench) -> Run:
    """Guarded, and as its limit the same puts without compares.

    Raises:
        StoreError, EmbeddedError, Interrupted: It gave no figure.
    """
    with Embedded.start(members=3) as etcd:
        connection = Connection(endpoints=tuple(etcd.endpoints))
        gateway = Gateway(connection, purpose="bench", witness=Witness(), clock=bench.clock)
        try:
            begun = gateway.txn(Txn((), (Put("/bench/term", TERM),)), timeout=TIMEOUT)
            guard = Guard("/bench/term", Token(begun.revision), TERM)

            def guarded(number: int) -> Txn:
                keys = (f"/bench/guarded/{number}-{each}" for each in range(BATCH))
                return GuardedWrite.of(guard, [ObjectWrite(key, 0, MANIFEST) for key in keys]).txn()

            def plain(number: int) -> Txn:
                return Txn((), tuple(Put(f"/bench/plain/{number}-{each}", MANIFEST) for each in range(BATCH)))

            rates = {
                name: _rate(bench, gateway, name, make) for name, make in {"guarded": guarded, "plain": plain}.items()
            }
        finally:
            gateway.close()
    details = {"objectsPerTransaction": BATCH, "transactionsInFlight": IN_FLIGHT, "members": 3}
    return Run(value=rates["guarded"], limit=rates["plain"], details=details)


def _rate(bench: Bench, gateway: Gateway, name: str, make: Callable[[int], Txn]) -> float:
    """Objects a second."""
    told, objects = f"write {name} transactions", TRANSACTIONS * BATCH
    txns = [make(number) for number in range(TRANSACTIONS)]
    replies: queue.SimpleQueue[TxnReply | StoreError] = queue.SimpleQueue()
    began = bench.clock.now()
    for txn in txns[:IN_FLIGHT]:
        gateway.send(txn, replies.put, timeout=TIMEOUT)
    for number in range(TRANSACTIONS):
        reply = replies.get(timeout=2 * TIMEOUT)
        if isinstance(reply, StoreError):
            raise reply
        if bench.stop.is_set():
            raise Interrupted("stopped by a signal; etcd is taken down")
        if number + IN_FLIGHT < TRANSACTIONS:
            gateway.send(txns[number + IN_FLIGHT], replies.put, timeout=TIMEOUT)
        bench.progress(told, BATCH * (number + 1), objects)
    return objects / (bench.clock.now() - began)
