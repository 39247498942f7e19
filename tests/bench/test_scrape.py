"""What a scrape costs a leader that knows 50,000 pods, half of which have no place: processor time, and who waits."""

from __future__ import annotations

import statistics
import sys
import threading

import pytest

from chaos.bench import usage
from chaos.bench.objects import create_nodes, pod_puts, write_all
from chaos.cluster.plan import environment
from component.clock import SystemClock
from component.process import Child
from lockd.etcd.embedded import Embedded
from lockd.etcd.gateway import Gateway
from lockd.etcd.loopback import free_ports
from lockd.etcd.witness import Witness
from tests.harness.numbers import of_scrape
from tests.harness.replicas import STEADY, ask
from tests.harness.wait import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.slow, pytest.mark.timeout(3600)]

CLOCK = SystemClock()
PODS, NODES = 50_000, 230
"""A node takes 110 pods."""

SCRAPES, LIMIT = 50, 0.100
MORE, LONG = 500, 1800.0
ALGORITHM = "scheduler_scheduling_algorithm_duration_seconds"


def tell(line):
    sys.stdout.write(f"\n  {line}")


class Leader:
    """A replica that leads."""

    def __init__(self, connection, folder):
        self.prefix = "/bench-scrape"
        self.gateway = Gateway(connection, purpose="bench", witness=Witness())
        create_nodes(self.gateway, self.prefix, NODES)
        (self.port,) = free_ports(1)
        words = (f"--endpoints={','.join(connection.endpoints)}", f"--prefix={self.prefix}", *STEADY.flags)
        command = [sys.executable, "-m", "replica", "run", f"--secure-port={self.port}", *words]
        self.child = Child(command, log=folder / "leader.log", environment=environment())
        eventually(lambda: ask(self.port, "/leader").status == 200, within=LONG, what="it leads")

    def scrape(self):
        return ask(self.port, "/metrics", timeout=60.0).body

    def know(self, first, count):
        """Create pods, and wait until each has its place or was told that there is none."""
        write_all(self.gateway, pod_puts(self.prefix, first, count))
        eventually(lambda: self._settled(first + count), within=LONG, what=f"{first + count} pods are dealt with")

    def _settled(self, pods):
        CLOCK.wait(threading.Event(), 0.5)
        seen = of_scrape(self.scrape())
        bound = seen["scheduler_cache_size"][("type", "pods"),]
        return bound + seen["scheduler_pending_pods"][("queue", "unschedulable"),] >= pods

    def cycles(self):
        """Nodes looked for so far, the seconds that took, and by bucket."""
        seen = of_scrape(self.scrape())
        buckets = {float(dict(key)["le"]): count for key, count in seen[f"{ALGORITHM}_bucket"].items()}
        return seen[f"{ALGORITHM}_count"][()], seen[f"{ALGORITHM}_sum"][()], buckets

    def spent(self):
        return usage.seconds(self.child.pid)

    def end(self):
        self.child.kill()
        self.gateway.close()


def longest(before, after):
    """The bucket of the longest cycle between the two."""
    new = {bound: after[bound] - before[bound] for bound in before}
    return min(bound for bound, count in new.items() if count == new[float("inf")])


def test_a_scrape_at_50_000_pods(tmp_path):
    with Embedded.start() as etcd:
        leader = Leader(etcd.connection, tmp_path)
        try:
            leader.know(0, PODS)
            seen = of_scrape(leader.scrape())
            CLOCK.wait(threading.Event(), 2.0)
            idle = leader.spent()
            CLOCK.wait(threading.Event(), 5.0)
            idle = (leader.spent() - idle) / 5.0
            took, began, spent = [], CLOCK.now(), leader.spent()
            for _ in range(SCRAPES):
                since = CLOCK.now()
                text = leader.scrape()
                took.append(CLOCK.now() - since)
            cost = (leader.spent() - spent - idle * (CLOCK.now() - began)) / SCRAPES
            waiting, placed = seen["scheduler_pending_pods"], seen["scheduler_cache_size"][("type", "pods"),]
            tell(
                f"{placed:.0f} pods placed, waiting: { {dict(key)['queue']: value for key, value in waiting.items()} }"
            )
            tell(f"a scrape: {len(text.splitlines())} lines, {cost * 1000:.1f} ms of processor time, at most 100")
            tell(f"as a client sees it: {statistics.median(took) * 1000:.1f} ms, {max(took) * 1000:.1f} at most")
            apart = _cycles(leader, PODS, scraping=False)
            beside = _cycles(leader, PODS + MORE, scraping=True)
            tell(f"a cycle without scrapes: {apart[0] * 1e6:.0f} us, {apart[1] * 1000:g} ms at most")
            tell(f"a cycle beside a scrape after the other: {beside[0] * 1e6:.0f} us, {beside[1] * 1000:g} ms at most")
        finally:
            leader.end()
    assert cost < LIMIT


def _cycles(leader, first, *, scraping):
    """Seconds that looking for a node takes while pods come: on average, and at most, as far as the buckets tell."""
    over = threading.Event()

    def scrape():
        while not over.is_set():
            leader.scrape()

    before = leader.cycles()
    thread = threading.Thread(target=scrape, name="scrapes", daemon=True)
    if scraping:
        thread.start()
    try:
        leader.know(first, MORE)
    finally:
        over.set()
    if scraping:
        thread.join(60.0)
    after = leader.cycles()
    return (after[1] - before[1]) / (after[0] - before[0]), longest(before[2], after[2])
