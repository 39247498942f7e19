"""What operators do to a cluster, and what befalls them, while pods keep coming: nothing of it loses one.

`make chaos-compose`.
"""

from __future__ import annotations

import json

import pytest

from component.clock import SystemClock
from tests.harness.engine import WITHIN, chaosctl
from tests.harness.wait import eventually
from tools import compose as tool
from tools.engine import docker

pytestmark = [pytest.mark.compose, pytest.mark.slow, pytest.mark.timeout(3 * WITHIN)]

CLOCK = SystemClock()
AWAY = 40.0
"""Seconds of a partition: more than two leases of 15 s."""


@pytest.fixture
def told(request):
    """How long it took, for whoever reads what was measured."""
    began = CLOCK.now()
    yield
    print(f"{request.node.name}: {CLOCK.now() - began:.0f} s")


@pytest.fixture(autouse=True)
def right(cluster, told):
    """Whole before, and whole and right afterwards: all of etcd's history is judged, and new pods are bound."""
    cluster.whole()
    yield
    cluster.whole()
    one = cluster.replicas()[0]
    before = bound(cluster, one)
    eventually(lambda: bound(cluster, one) - before, within=WITHIN, what="a new pod has a node")
    print(cluster.run(one, "chaosctl", "audit", "--wait", f"{WITHIN / 2}s").strip().splitlines()[-1])


def bound(cluster, replica):
    """The pods that have nodes now."""
    pods = json.loads(cluster.run(replica, "replicactl", "get", "pods", "-n", "chaos", "-o", "json"))["items"]
    return {pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName")}


def etcd_is_well(cluster):
    """All three members answer, as members of one cluster."""

    def well():
        members = [each for name, each in cluster.containers().items() if name.startswith("etcd-")]
        try:
            listed = json.loads(cluster.run(members[0], "etcdctl", "member", "list", "-w", "json"))["members"]
            for each in members:
                cluster.run(each, "etcdctl", "endpoint", "health")
        except tool.Refusal:
            return False
        return len(listed) == 3 and all(each.get("name") for each in listed)

    eventually(well, within=WITHIN, what="three members that answer")


def addresses(cluster):
    found = {}
    for name, each in cluster.containers().items():
        networks = cluster.inspect(each)["NetworkSettings"]["Networks"]
        found[name] = next(iter(networks.values()))["IPAddress"]
    return found


def test_a_leader_that_is_partitioned_is_replaced_and_rejoins(cluster):
    leader = cluster.leader()
    said = chaosctl("hurt", "leader", "--isolate", "--for", f"{AWAY}s", f"--project={cluster.project}")
    assert said.code == 0, said.stderr
    assert cluster.leader().id != leader.id


def test_a_member_that_lost_its_volume_is_replaced(cluster):
    lost = cluster.containers()["etcd-2"]
    docker("stop", "--time", "1", lost.id)
    docker("rm", "--volumes", lost.id)
    docker("volume", "rm", f"{cluster.project}_etcd-2")
    said = cluster.make("replace", "etcd-2", tool="operations")
    assert said.code == 0, said.stderr
    print(said.stdout.strip())
    etcd_is_well(cluster)


def test_replicas_are_upgraded_one_after_the_other(cluster):
    image = cluster.inspect(cluster.replicas()[0])["Config"]["Image"]
    other = f"lockd-test-{cluster.project}:next"
    docker("tag", image, other)
    try:
        said = cluster.make("upgrade", tool="operations", LOCKD_IMAGE=other)
        assert said.code == 0, said.stderr
        print(said.stdout.strip())
        assert {cluster.inspect(each)["Config"]["Image"] for each in cluster.replicas()} == {other}
    finally:
        assert cluster.make("upgrade", tool="operations", LOCKD_IMAGE=image).code == 0
        docker("image", "rm", other)


def test_all_of_etcd_starts_again(cluster):
    members = [each.id for name, each in cluster.containers().items() if name.startswith("etcd-")]
    docker("restart", "--time", "2", *members)
    etcd_is_well(cluster)


def test_members_that_swapped_their_addresses_are_told_apart(cluster):
    before = addresses(cluster)
    first, second = (cluster.containers()[name].id for name in ("etcd-1", "etcd-2"))
    docker("stop", first, second)
    docker("start", second)
    docker("start", first)
    etcd_is_well(cluster)
    after = addresses(cluster)
    print({name: (before[name], after[name]) for name in ("etcd-1", "etcd-2")})
    assert (after["etcd-1"], after["etcd-2"]) == (before["etcd-2"], before["etcd-1"])
