"""The limit of scheduling: the same writes without a scheduler.

On a cluster like the one that schedules, with the same creator and both standbys, this process takes the lease and
makes the transactions that binding makes, of the same size and under the same guard, out of values made before: what
is measured is what etcd, the creator and the standbys leave room for.
"""

from __future__ import annotations

import os
import threading
import uuid
from typing import TYPE_CHECKING, Final

from chaos.bench.creator import Creator
from chaos.bench.objects import TIMEOUT, create_nodes
from chaos.bench.rig import rig
from chaos.bench.usage import Meter
from chaos.bench.writer import Writer
from chaos.errors import TooSlow
from component.process import Process
from lockd.fencing import Guard, Token
from lockd.ports import Compare, Field, Put, Txn
from lockd.record import LeaderRecord, TermValue, display_time

if TYPE_CHECKING:
    from chaos.bench.rig import Bench, Rig
    from chaos.cluster.interface import Target

HOLDER: Final = "bench"
LEASE: Final = 3600.0
"""Seconds: nobody may take over while it is measured."""

ENDING: Final = 30.0
"""Seconds that the leader may take to see that another holds the lease, and to end."""


def ceiling(bench: Bench, *, nodes: int) -> tuple[float, dict[str, float]]:
    """Pods a second, and the processor microseconds that each process used for one.

    Raises:
        TooSlow, NotStarted, Interrupted, StoreError: It gave no figure.
    """
    pods = bench.pods
    told = f"bind {pods} pods without a scheduler"
    with rig(bench) as made:
        leader, guard = _take_over(bench, made)
        create_nodes(made.gateway, made.plan.prefix, nodes)
        gateway = made.connect("bench-writer", bench.clock)
        creator = Creator.start(made.state.endpoints, made.plan.prefix, pods)
        try:
            writer = Writer(gateway, guard, made.plan.prefix, pods, clock=bench.clock)
            creator.until_ready()
            standbys = {name: pid for name, pid in made.processes().items() if pid != leader.pid}
            meter = Meter({**standbys, "creator": creator.process.pid, "bench": os.getpid()})
            creator.go()
            reader = threading.Thread(target=writer.follow, args=(creator,), name="bench/creator", daemon=True)
            reader.start()
            seconds = writer.run(lambda done: bench.progress(told, done, pods), bench.stop)
            used = meter.used()
        finally:
            creator.end()
            gateway.close()
    return pods / seconds, {name: round(1e6 * value / pods, 1) for name, value in used.items()}


def _take_over(bench: Bench, made: Rig) -> tuple[Target, Guard]:
    """Take the lease for this process, as after evidence of a death: the leader ends, the others stand by.

    Returns:
        Who led, and what this process may write under.
    """
    leader = made.cluster.leader()
    if leader is None:
        raise TooSlow("nobody leads: the machine is too busy for figures")
    lock, now = made.lock, display_time(bench.clock.wall())
    seen = [made.gateway.range(key, timeout=TIMEOUT).kvs[0] for key in (lock.lease, lock.term)]
    term = TermValue(HOLDER, str(uuid.uuid4()))
    record = LeaderRecord(
        holder_identity=HOLDER,
        lease_duration=LEASE,
        acquire_time=now,
        renew_time=now,
        leader_transitions=2,
        renewal=term.acquisition,
        takeover="evidence",
    )
    compares = (Compare(lock.term, Field.MOD, seen[1].mod_revision),)
    reply = made.gateway.txn(
        Txn(compares, (Put(lock.lease, record.encode()), Put(lock.term, term.encode()))), timeout=TIMEOUT
    )
    if not reply.succeeded:
        raise TooSlow("the leader changed before the measurement: the machine is too busy for figures")
    process = Process(leader.pid, leader.started)
    bench.until(lambda: not process.alive, within=ENDING, what="the replica that led has not ended")
    return leader, Guard(lock.term, Token(reply.revision), term.encode())
