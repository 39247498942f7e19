"""How fast a leader can write: guarded transactions on a real etcd, by batch and by how many are in flight."""

from __future__ import annotations

import queue
import statistics
import sys

import pytest

from component.clock import SystemClock
from lockd.etcd.connection import Connection
from lockd.etcd.embedded import Embedded
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from lockd.fencing import Guard, GuardedWrite, ObjectWrite, Token
from lockd.ports import Put, Txn, TxnReply

TIMEOUT = 10.0
TERM = b'{"holderIdentity":"bench","acquisition":"1"}'
MANIFEST = b"x" * 1500
"""As long as a small pod's."""

pytestmark = [pytest.mark.etcd, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", params=[1, 3], ids=["one member", "three members"])
def gateway(request):
    with Embedded.start(members=request.param) as etcd:
        gateway = Gateway(Connection(endpoints=tuple(etcd.endpoints)), purpose="bench", witness=Witness())
        sys.stdout.write(f"\n{request.param} member(s)\n")
        yield gateway
        gateway.close()


@pytest.mark.parametrize(("batch", "in_flight"), [(1, 1), (1, 8), (30, 4), (120, 4)])
def test_guarded_writes(gateway, batch, in_flight):
    clock = SystemClock()
    prefix = f"/bench/{batch}/{in_flight}"
    begun = gateway.txn(Txn((), (Put(f"{prefix}/term", TERM),)), timeout=TIMEOUT)
    guard = Guard(f"{prefix}/term", Token(begun.revision), TERM)
    replies: queue.SimpleQueue[tuple[GuardedWrite, float, object]] = queue.SimpleQueue()
    transactions = 400 if batch == 1 else 100

    def send(number: int) -> None:
        names = range(number * batch, number * batch + batch)
        write = GuardedWrite.of(guard, [ObjectWrite(f"{prefix}/pods/{name}", 0, MANIFEST) for name in names])
        sent = clock.now()
        gateway.send(write.txn(), lambda reply: replies.put((write, sent, reply)), timeout=TIMEOUT)

    first = clock.now()
    for number in range(in_flight):
        send(number)
    latencies = []
    for number in range(in_flight, transactions + in_flight):
        write, sent, reply = replies.get(timeout=2 * TIMEOUT)
        latencies.append(clock.now() - sent)
        assert isinstance(reply, TxnReply), reply
        judged = write.judge(reply)
        assert not judged.fenced
        assert all(result.applied for result in judged.results)
        if number < transactions:
            send(number)
    seconds = clock.now() - first

    median, p99 = statistics.median(latencies), statistics.quantiles(latencies, n=100)[98]
    sys.stdout.write(
        f"\n  {batch:3} objects a transaction, {in_flight} in flight: {transactions * batch / seconds:7.0f} objects/s, "
        f"p50 {1000 * median:.1f} ms, p99 {1000 * p99:.1f} ms\n"
    )
