"""How long the lock is nobody's after the leader's process ends, beside what the kernel and etcd alone take.

Moments are on CLOCK_BOOTTIME: the signal's, and those at which an auditing watch on this host brought etcd's commits.
The floor is measured in the same run, before each kill: a bare process of the leader's resident size is killed, and the
end of its socket awaited; then a bare swap is sent, and awaited by a bare watch. LOCKD_TRIALS=n makes it shorter.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import socket
import statistics
import subprocess
import sys
import threading
from pathlib import Path
from random import Random

import pytest

from chaos.bench.objects import create_nodes, pod_puts, write_all
from lockd.etcd.model import WatchBatch, WatchTarget
from lockd.ports import Compare, Field, LockName, Put, Txn
from tests.bench.test_handoffs import tell
from tests.harness.local import CLOCK, local
from tests.harness.replicas import ask
from tests.harness.wait import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.slow, pytest.mark.timeout(3600)]

TRIALS = int(os.environ.get("LOCKD_TRIALS", "100"))
PODS, NODES = 5000, 200
LEASE, PERIOD, JITTER = 15.0, 2.0, 1.2

LEFT_ALONE = 0.25
"""Seconds after a signal in which nobody is asked: that would take the processors that the hand-off needs."""

NEVER = threading.Event()

BARE = """
import socket, sys
held = bytearray(int(sys.argv[1]))
held[::4096] = b"x" * len(held[::4096])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
accepted, _ = listener.accept()
accepted.sendall(b"x")
accepted.recv(1)
"""


def client_go() -> tuple[float, float]:
    """Means with one standby that polls each 2 to 4.4 s: after a kill, after a release. Worked out, not measured."""
    random = Random(1)  # noqa: S311 - drawn again the same each time

    def gap() -> float:
        return PERIOD * (1 + JITTER * random.random())

    killed, released = [], []
    for _ in range(20_000):
        polls, moment = [], -random.random() * 100
        while moment < 60.0:
            moment += gap()
            polls.append(moment)
        seen = next(poll for poll in polls if poll >= 0.0)  # the last renewal was at 0
        killed.append(next(poll for poll in polls if poll >= seen + LEASE) - random.uniform(0.0, PERIOD))
        released.append(seen)
    return statistics.fmean(killed), statistics.fmean(released)


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def watches_over(target) -> str:
    answer = ask(int(target.address.rpartition(":")[2]), "/statusz", timeout=5.0)
    return json.loads(answer.body)["watchesOver"] if answer.status == 200 else ""


class Floor:
    """What no lock could do without."""

    def __init__(self, cluster) -> None:
        self._gateway = cluster.gateway
        self._key = f"{cluster.plan.prefix}-floor/key"
        self._seen = queue.SimpleQueue()
        self._gateway.txn(Txn((), (Put(self._key, b"0"),)), timeout=5.0)
        self._gateway.watch([WatchTarget(self._key, prefix=False, start_revision=1)], self._take)
        self._revision = self._seen.get(timeout=10.0)

    def _take(self, item) -> None:
        if isinstance(item, WatchBatch):
            for event in item.events:
                self._seen.put(event.mod_revision)

    def close(self, size: int) -> float:
        """Seconds from the signal to the end of the socket of a process of this resident size."""
        child = subprocess.Popen([sys.executable, "-c", BARE, str(size)], stdout=subprocess.PIPE, text=True)
        with socket.create_connection(("127.0.0.1", int(child.stdout.readline())), timeout=30.0) as connected:
            connected.recv(1)
            began = CLOCK.now()
            child.kill()
            with contextlib.suppress(ConnectionResetError):
                connected.recv(1)
            took = CLOCK.now() - began
        child.wait()
        child.stdout.close()
        return took

    def swap(self) -> float:
        """Seconds from the send of a compare-and-swap to its event."""
        began = CLOCK.now()
        swap = Txn((Compare(self._key, Field.MOD, self._revision),), (Put(self._key, b"1"),))
        assert self._gateway.txn(swap, timeout=5.0).succeeded
        self._revision = self._seen.get(timeout=10.0)
        return CLOCK.now() - began


def settled(cluster):
    """The leader, once both others watch over it."""

    def look():
        leader = cluster.leader()
        others = [one for one in cluster.cluster.replicas() if one.identity != leader.identity]
        return leader if len(others) == 2 and all(watches_over(one) == leader.identity for one in others) else None

    return eventually(look, within=120.0, what="two watch over the leader")


def stamps(cluster, key, wanted):
    """When each change of a key was seen that is wanted."""
    name = key.removeprefix(f"{cluster.plan.prefix}/")
    changes = [change for change in cluster.auditor.history(within=60.0).changes if change.key == name]
    return [cluster.auditor.stamp(one.revision).now for one in changes if wanted(one.value or b"")]


def spread(seconds) -> str:
    """Percentiles, in milliseconds."""
    ordered = sorted(1000 * each for each in seconds)
    cut = statistics.quantiles(ordered, n=100, method="inclusive") if len(ordered) > 1 else ordered * 99
    return f"p50 {cut[49]:.1f}, p90 {cut[89]:.1f}, p99 {cut[98]:.1f}, max {ordered[-1]:.1f} ms"


def trial(cluster, lock, number, number_of_signal, *, busy=True):
    """End the leader's process; seconds until another holds the lock, and until the next pod is bound.

    The pod is written with the signal where the leader is to be busy, else once another leads: a leader that drains
    still binds what comes before its release, and the release then stands behind the bind in etcd.
    """
    leader = settled(cluster)
    (pod,) = pod_puts(cluster.plan.prefix, 100_000 + number, 1)
    began = CLOCK.now()
    os.kill(leader.pid, number_of_signal)
    if busy:
        write_all(cluster.gateway, [pod])
    CLOCK.wait(NEVER, LEFT_ALONE)
    cluster.leader(unlike=leader.identity)
    if not busy:
        write_all(cluster.gateway, [pod])
    eventually(lambda: b"node-" in cluster.gateway.range(pod.key, timeout=5.0).kvs[0].value, within=60.0)

    def first(of, wanted):
        return next(at for at in stamps(cluster, of, wanted) if at > began) - began

    held = first(lock.term, lambda value: b'"holderIdentity":""' not in value)
    bound = first(pod.key, lambda value: b"node-" in value)
    return held, bound, leader


def test_after_a_kill(tmp_path):
    with local(tmp_path, flags=()) as cluster:
        lock, floor = prepare(cluster)
        held, bound, close, swap, sizes = [], [], [], [], []
        for number in range(TRIALS):
            size = resident(settled(cluster).pid)
            sizes.append(size)
            close.append(floor.close(max(0, size - 12_000_000)))
            swap.append(floor.swap())
            took, until_bound, _ = trial(cluster, lock, number, signal.SIGKILL)
            held.append(took)
            bound.append(until_bound)
        bare = [one + other for one, other in zip(close, swap, strict=True)]
        late = sum(each >= 0.2 for each in held)
        tell(f"kill -9, {PODS} pods cached, {TRIALS} trials, load {os.getloadavg()[0]:.1f}, {cpus()} cores")
        tell(f"leader's resident size: {statistics.median(sizes) / 1e6:.0f} MB")
        tell(f"lock held by another: {spread(held)}; {late} at 200 ms or above")
        tell(f"floor: {spread(bare)}; of it the end of a socket: {spread(close)}; a swap and its event: {spread(swap)}")
        tell(f"above the floor, p50: {1000 * (statistics.median(held) - statistics.median(bare)):.1f} ms (wanted: 15)")
        tell(f"next pod bound: {spread(bound)} (wanted: p50 under 80)")
        tell(f"by client-go's rules with one standby: {client_go()[0]:.2f} s on average")


def test_after_sigterm(tmp_path):
    with local(tmp_path, flags=()) as cluster:
        lock, _ = prepare(cluster)
        idle, busy, bound = [], [], []
        for number in range(TRIALS):  # by turns, so that a slow minute of the machine meets both
            idle.append(trial(cluster, lock, 2 * number, signal.SIGTERM, busy=False)[0])
            took, until_bound, _ = trial(cluster, lock, 2 * number + 1, signal.SIGTERM)
            busy.append(took)
            bound.append(until_bound)
        tell(f"SIGTERM, {PODS} pods cached, {TRIALS} trials, load {os.getloadavg()[0]:.1f}, {cpus()} cores")
        tell(f"lock held by another: {spread(idle)} (wanted: p50 under 20)")
        tell(f"the same with a pod written at the signal's moment: {spread(busy)}")
        tell(f"that pod bound: {spread(bound)}")
        tell(f"by client-go's rules with one standby: {client_go()[1]:.2f} s on average")


def prepare(cluster):
    cluster.leader()
    create_nodes(cluster.gateway, cluster.plan.prefix, NODES)
    write_all(cluster.gateway, pod_puts(cluster.plan.prefix, 0, PODS))
    eventually(lambda: cluster.bound() == PODS, within=300.0)
    return LockName(cluster.plan.prefix, "kube-system", "kube-scheduler"), Floor(cluster)


def cpus() -> int:
    return len(os.sched_getaffinity(0))


@pytest.mark.parametrize("count", [0, 5000, 50_000])
def test_resident_size(tmp_path, count):
    with local(tmp_path, flags=(), replicas=2) as cluster:
        cluster.leader()
        create_nodes(cluster.gateway, cluster.plan.prefix, 1000)
        write_all(cluster.gateway, pod_puts(cluster.plan.prefix, 0, count))
        eventually(lambda: cluster.bound() == count, within=900.0)
        leader = cluster.leader()
        told = [
            f"{'leader' if one.identity == leader.identity else 'standby'} {resident(one.pid) / 1e6:.0f} MB"
            for one in cluster.cluster.replicas()
        ]
        tell(f"resident size with {count} pods on 1000 nodes: {', '.join(told)} (wanted with 50,000: 200 MB)")
