"""A steady stream of pods while leaders are killed and stopped: every pod bound once, none lost, no stale write."""

from __future__ import annotations

import threading

import pytest

from tests.harness.local import CLOCK, NEVER, local, nodes, pods
from tests.harness.wait import eventually

PODS, RATE, CHUNK = 2000, 100.0, 10


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_leaders_are_killed_and_stopped_under_a_stream_of_pods(tmp_path):
    with local(tmp_path) as cluster:
        cluster.create(nodes(100))
        cluster.leader()
        failures = []

        def create():
            began = CLOCK.now()
            try:
                for first in range(0, PODS, CHUNK):
                    cluster.create(pods(first, CHUNK))
                    CLOCK.wait(NEVER, began + (first + CHUNK) / RATE - CLOCK.now())
            except Exception as error:  # noqa: BLE001 - told by the test
                failures.append(error)

        creator = threading.Thread(target=create, daemon=True)
        creator.start()
        for threshold in (500, 1200):
            eventually(lambda least=threshold: cluster.bound() >= least, within=60.0)
            leader = cluster.leader()
            cluster.cluster.kill(leader)
            cluster.leader(unlike=leader.identity)
        eventually(lambda: cluster.bound() >= 1700, within=60.0)
        leader = cluster.leader()
        cluster.cluster.pause(leader)
        CLOCK.wait(NEVER, 6.0)
        cluster.cluster.resume(leader)
        creator.join(60.0)
        assert not failures
        assert not creator.is_alive()
        eventually(lambda: cluster.bound() == PODS, within=60.0)
        report = cluster.report()
        assert report["violations"] == []
        assert not report["incomplete"]
        assert (report["pods"]["bound"], report["pods"]["lost"], report["pods"]["double_bound"]) == (PODS, 0, 0)
        assert report["nodes"] == {"count": 100, "overcommitted": 0}
        assert len(report["terms"]) >= 4
