"""What tracing costs a leader for each pod, in processor time: off, 1 pod in 100, every pod.

One leader for each way of tracing, all on one etcd, each under a prefix of its own, take turns with the same pods, in
another order each round. What is compared is the processor time of two leaders in one round, so that neither the
machine's speed nor its other work counts; the others are idle meanwhile.
"""

from __future__ import annotations

import random
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
from tests.harness.collector import Collector
from tests.harness.replicas import LAUNCHERS, STEADY, ask
from tests.harness.wait import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.slow, pytest.mark.timeout(3600)]

CLOCK = SystemClock()
ROUNDS, PODS, NODES = 12, 1000, 130
SETTLING = 1.2
"""Seconds after the last event in which spans are exported: more than two of their batches."""

NEVER = threading.Event()
FULL = {"OTEL_TRACES_SAMPLER": "always_on"}
ONE_IN_A_HUNDRED = {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.01"}
LIMITS = {"off": 0.02, "1 in 100": 0.05, "every pod": 0.60}
"""The shares that may come on top of a leader without tracing."""


def tell(line):
    sys.stdout.write(f"\n  {line}")


class Leader:
    """A replica that leads and schedules under a prefix of its own."""

    def __init__(self, name, connection, folder, *, launcher="", otlp="", environ=None, file=False):
        self.name = name
        self.prefix = f"/bench-{name.replace(' ', '-')}"
        self.gateway = Gateway(connection, purpose="bench", witness=Witness())
        create_nodes(self.gateway, self.prefix, NODES)
        (port,) = free_ports(1)
        program = [str(LAUNCHERS / f"{launcher}.py")] if launcher else ["-m", "replica"]
        words = [
            *(f"--endpoints={','.join(connection.endpoints)}", f"--prefix={self.prefix}", f"--secure-port={port}"),
            *STEADY.flags,
        ]
        traced = [f"--trace-file={folder / 'trace.jsonl'}"] if file else []
        told = {name: value for name, value in environment().items() if not name.startswith("OTEL_")}
        told |= {
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "60",
            **({"OTEL_EXPORTER_OTLP_ENDPOINT": otlp} if otlp else {}),
        }
        self.child = Child(
            [sys.executable, *program, "run", *words, *traced],
            log=folder / f"{self.prefix[1:]}.log",
            environment=told | (environ or {}),
        )
        self.pods = 0
        eventually(lambda: ask(port, "/leader").status == 200, within=120.0, what=f"{name} leads")

    def spent(self):
        """Seconds on a processor so far, all threads together."""
        return usage.seconds(self.child.pid)

    def turn(self):
        """Microseconds of processor time for each of the next pods, from their creation to the last of their events."""
        puts = pod_puts(self.prefix, self.pods, PODS)
        before = self.spent()
        write_all(self.gateway, puts)
        self.pods += PODS
        eventually(self._all_told, within=300.0, what=f"{self.name} has bound {self.pods} pods")
        CLOCK.wait(NEVER, SETTLING)
        return (self.spent() - before) / PODS * 1e6

    def _all_told(self):
        CLOCK.wait(NEVER, 0.1)
        events = self.gateway.range(f"{self.prefix}/events/", prefix=True, limit=1, keys_only=True, timeout=30.0)
        return events.count >= self.pods

    def end(self):
        self.child.kill()
        self.gateway.close()


def interval(shares):
    """Where the median lies, by drawing these rounds again and again: 19 times of 20 between the two."""
    draw = random.Random(1)  # noqa: S311  # the same each time
    medians = sorted(statistics.median(draw.choices(shares, k=len(shares))) for _ in range(2000))
    return medians[50], medians[-51]


def test_tracing_costs_no_more_than_is_promised(tmp_path):
    with Embedded.start() as etcd, Collector() as collector:
        to = {"otlp": collector.endpoint}
        ways = {
            "without": {"launcher": "untraced"},
            "off": {},
            "1 in 100": {**to, "environ": ONE_IN_A_HUNDRED},
            "every pod": {**to, "environ": FULL},
            "every pod to a file": {"file": True, "environ": FULL},
        }
        leaders = []
        try:
            for name, how in ways.items():
                leaders.append(Leader(name, etcd.connection, tmp_path, **how))
            for leader in leaders:
                leader.turn()  # caches, templates, connections
            rounds = []
            for number in range(ROUNDS):
                order = leaders[number % len(leaders) :] + leaders[: number % len(leaders)]
                rounds.append({leader.name: leader.turn() for leader in order})
        finally:
            for leader in leaders:
                leader.end()
        stories = collector.spans.count("scheduler.schedule_pod")
    plain = statistics.median(each["without"] for each in rounds)
    tell(f"a leader without tracing: {plain:.0f} us of processor time a pod; {ROUNDS} rounds of {PODS} pods each way")
    late = {}
    for name in list(ways)[1:]:
        shares = [each[name] / each["without"] - 1 for each in rounds]
        low, high = interval(shares)
        limit = LIMITS.get(name)
        told = f", at most {limit:.0%}" if limit is not None else ""
        tell(f"{name}: {statistics.median(shares):+.1%} ({low:+.1%} to {high:+.1%}){told}")
        if limit is not None and low > limit:
            late[name] = low
    assert stories >= (ROUNDS + 1) * PODS
    assert late == {}
