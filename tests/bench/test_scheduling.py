"""How fast pods are bound from the moment they are created, and whether renewals keep their period meanwhile."""

from __future__ import annotations

import statistics
import sys
from itertools import pairwise

import msgspec
import pytest

from chaos import spans
from chaos.cluster.plan import FAST
from lockd.ports import Put, Txn
from replica.api.keys import object_key
from tests.harness.local import CLOCK, local, nodes, pods
from tests.harness.wait import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.slow, pytest.mark.timeout(900)]

NODES, PODS, CHUNK = 1000, 30_000, 100
PERIOD = 0.5


def tell(line):
    sys.stdout.write(f"\n  {line}\n")


def write_all(cluster, drafts):
    """Create objects a hundred a transaction: as fast as many users together."""
    values = [
        Put(
            object_key(cluster.plan.prefix, draft.kind, draft.name, draft.namespace),
            draft.created(uid=f"uid-{draft.name}", at="2026-01-01T00:00:00Z"),
        )
        for draft in drafts
    ]
    for first in range(0, len(values), CHUNK):
        cluster.gateway.txn(Txn((), tuple(values[first : first + CHUNK])), timeout=10.0)


def test_created_to_bound_and_renewals_meanwhile(tmp_path):
    with local(tmp_path, flags=FAST) as cluster:
        cluster.leader()
        write_all(cluster, nodes(NODES))
        drafts = pods(0, PODS, cpu="10m", memory="16Mi")
        leader = cluster.leader()
        began, wall = CLOCK.now(), CLOCK.wall()
        write_all(cluster, drafts)
        created = CLOCK.now()
        eventually(lambda: cluster.bound() == PODS, within=600.0)
        ended, wall_ended = CLOCK.now(), CLOCK.wall()
        assert cluster.leader().identity == leader.identity
        renewals = sorted(
            span.start
            for span in spans.read_folder(cluster.plan.traces)
            if span.name == "leader_election.renew" and span.instance == leader.identity
        )
        periods = [b - a for a, b in pairwise(renewals) if wall <= a and b <= wall_ended]
        off = [abs(period - PERIOD) for period in periods]
        p99 = statistics.quantiles(off, n=100, method="inclusive")[98] if len(off) > 1 else off[0]
        tell(
            f"{PODS} pods on {NODES} nodes: created in {created - began:.1f} s, bound after {ended - began:.1f} s "
            f"({PODS / (ended - began):.0f} pods/s); {len(off)} renewals meanwhile, "
            f"off their period of {PERIOD:g} s by p50 {1000 * statistics.median(off):.0f} ms, "
            f"p99 {1000 * p99:.0f} ms, max {1000 * max(off):.0f} ms"
        )
        tell(msgspec.json.encode(cluster.report()).decode())
