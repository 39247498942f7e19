"""How long the lock is nobody's: from a release to the next holder, and from a leader's last renewal to the next one.

The second is measured without presence, which tells of an end at once (`test_presence.py`).

Moments are those at which an auditing watch on the same host brought etcd's commits, on CLOCK_BOOTTIME.
"""

from __future__ import annotations

import itertools
import statistics
import sys

import pytest

from lockd.ports import LockName
from tests.harness.local import CLOCK, NEVER, local
from tests.harness.wait import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.slow, pytest.mark.timeout(900)]

RELEASES, KILLS = 20, 5
LEASE = 15.0
"""Seconds: the default."""


def tell(line):
    sys.stdout.write(f"\n  {line}\n")


def settled(cluster, lock):
    """The leader, once all replicas are candidates: one leads, two stand by."""

    def look():
        running = {replica.identity for replica in cluster.cluster.replicas()}
        candidates = cluster.gateway.list(lock.candidates, timeout=5.0).kvs
        return running <= {kv.key.removeprefix(lock.candidates) for kv in candidates} and cluster.leader()

    return eventually(look, within=60.0, what="all replicas stand by or lead")


def moments(cluster, key):
    """Each change of a key: its revision, its value, and when the watch brought it."""
    name = key.removeprefix(f"{cluster.plan.prefix}/")
    changes = [change for change in cluster.auditor.history(within=30.0).changes if change.key == name]
    return [(change.revision, change.value, cluster.auditor.stamp(change.revision).now) for change in changes]


def test_release_to_next_holder(tmp_path):
    with local(tmp_path, flags=()) as cluster:
        lock = LockName(cluster.plan.prefix, "kube-system", "kube-scheduler")
        for _ in range(RELEASES):
            leader = settled(cluster, lock)
            cluster.cluster.terminate(leader)
            cluster.leader(unlike=leader.identity)
        changes = moments(cluster, lock.term)
        gaps = [
            1000 * (next_[2] - one[2]) for one, next_ in itertools.pairwise(changes) if b'"holderIdentity":""' in one[1]
        ]
        assert len(gaps) >= RELEASES
        middle = statistics.median(gaps)
        tell(f"release to next holder, {len(gaps)} hand-offs: p50 {middle:.1f} ms, max {max(gaps):.1f} ms")


def test_last_renewal_to_next_holder_after_a_kill_that_nobody_tells_of(tmp_path):
    with local(tmp_path, flags=("--leader-elect-presence=false",)) as cluster:
        lock = LockName(cluster.plan.prefix, "kube-system", "kube-scheduler")
        for _ in range(KILLS):
            leader = settled(cluster, lock)
            CLOCK.wait(NEVER, 3.3)
            cluster.cluster.kill(leader)
            cluster.leader(unlike=leader.identity)
        leases = moments(cluster, lock.lease)
        tokens = {revision for revision, _, _ in moments(cluster, lock.term)}
        gaps = [now - before for (_, _, before), (revision, _, now) in itertools.pairwise(leases) if revision in tokens]
        assert len(gaps) >= KILLS
        assert round(min(gaps), 2) >= LEASE, gaps
        tell(
            "last renewal's commit to the next holder, lease duration 15 s: "
            + ", ".join(f"{gap:.3f} s" for gap in gaps[-KILLS:])
        )
