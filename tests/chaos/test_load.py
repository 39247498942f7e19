"""Thousands of pods while leaders are killed and stopped: history must show no trace of it."""

import json
import threading

import pytest

from chaos import workload
from chaos.cluster import state as files
from component.clock import SystemClock
from replica.api.manifests import parse_manifests
from tests.harness.local_cluster import chaosctl, running
from tests.harness.wait import eventually

PODS, NODES, RATE = 2000, 100, 100.0
CLOCK = SystemClock()


def drafts(kind, number):
    def one(index):
        if kind == "Node":
            name, rest = f"node-{index:03}", {"status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "30"}}}
        else:
            requests = {"cpu": "250m", "memory": "256Mi"}
            name, rest = (
                f"pod-{index:04}",
                {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}},
            )
        return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **rest}

    items = [one(index) for index in range(number)]
    return parse_manifests(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode(), kind)


def create_at_rate(gateway, prefix, pods, stop):
    begin = CLOCK.now()
    for index, pod in enumerate(pods):
        CLOCK.wait(stop, max(0.0, begin + index / RATE - CLOCK.now()))
        workload.create(gateway, prefix, [pod], clock=CLOCK, stop=stop)


@pytest.mark.slow
def test_every_pod_is_bound_once_whatever_happens_to_leaders(tmp_path):
    stop = threading.Event()
    with running(tmp_path / "cluster", "--fast") as (cluster, gateway):
        prefix = cluster.state().prefix
        workload.create(gateway, prefix, drafts("Node", NODES), clock=CLOCK, stop=stop)
        creating = threading.Thread(
            target=create_at_rate, args=(gateway, prefix, drafts("Pod", PODS), stop), name="create"
        )
        creating.start()
        try:
            for at, fault in ((500, "kill"), (1200, "kill"), (1700, "pause")):
                eventually(lambda at=at: bound(gateway, prefix) >= at, within=40.0)
                leader = eventually(cluster.leader, within=20.0)
                getattr(cluster, fault)(leader)
                if fault == "pause":
                    CLOCK.wait(stop, 6.0)  # the fault itself: two leases
                    cluster.resume(leader)
            eventually(lambda: not leader_alive(cluster, leader), within=20.0)
            creating.join(60)
            eventually(lambda: bound(gateway, prefix) == PODS, within=60.0)
        finally:
            stop.set()
            creating.join(10)
        endpoints = ",".join(files.read(tmp_path / "cluster").endpoints)
        audited = chaosctl("audit", "--endpoints", endpoints, "--wait", "20s", "-o", "json")
    document = json.loads(audited.stdout)
    assert (audited.returncode, document["violations"]) == (0, [])
    assert document["pods"]["bound"] == PODS
    assert (document["pods"]["lost"], document["pods"]["double_bound"], document["nodes"]["overcommitted"]) == (0, 0, 0)
    assert len(document["terms"]) >= 4


def bound(gateway, prefix):
    return sum(map(bool, workload.placement(gateway, prefix).values()))


def leader_alive(cluster, leader):
    """Does the deposed leader still run? It must exit once it learns that it is one."""
    return any(replica.identity == leader.identity for replica in cluster.replicas())
