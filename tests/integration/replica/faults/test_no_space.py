"""etcd is out of space under three replicas: a state with a name, in which nobody leads, and which passes by itself."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from lockd.errors import NoSpace
from lockd.etcd.embedded import Embedded
from lockd.ports import Delete, Put, Txn
from replica.ctl.main import main as replicactl
from tests.harness import crew as harness
from tests.harness.local import nodes, pods
from tests.harness.replicas import CLOCK, FAST
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

MIB = 1024**2
QUOTA = 16 * MIB
PODS = 10


def fill(gateway):
    """Put values until etcd has no more room; give their keys."""
    keys = [f"/fill/{number}" for number in range(2 * QUOTA // MIB)]

    def put_all():
        for key in keys:
            gateway.txn(Txn((), (Put(key, bytes(MIB)),)), timeout=10.0)

    with pytest.raises(NoSpace):
        put_all()
    return keys


def make_room(etcd, gateway, keys):
    """What a person does about it."""
    revision = gateway.txn(Txn((), tuple(map(Delete, keys))), timeout=10.0).revision
    gateway.compact(revision, timeout=10.0)
    for member in etcd.members:
        etcd.maintenance.defragment(member.endpoint, timeout=20.0)
    etcd.disarm()


def troubles(caplog):
    """What those in this process say of an etcd that is full."""
    full = [record for record in caplog.records if "database space exceeded" in str(vars(record).get("fields"))]
    return [record for record in full if record.getMessage() == "etcd does not answer the election"]


def test_etcd_out_of_space_is_a_state(prefix, tmp_path, caplog):
    with (
        Embedded.start(members=3, flags=(f"--quota-backend-bytes={QUOTA}",)) as etcd,
        harness.crew(etcd.connection, prefix, tmp_path) as crew,
    ):
        leader = crew.start("a")
        crew.until_leads(leader)
        standbys = (crew.join("b"), crew.join("c"))
        crew.until_ready(*standbys)
        crew.create(nodes(2))
        crew.create(pods(0, PODS))
        crew.until_bound(PODS)
        keys = fill(crew.gateway)

        # It can't renew, so it must not lead; whoever comes in its place can't either, and stays.
        assert leader.wait_for_end(within=2 * FAST.lease) == 1
        assert leader.ended_at <= crew.last_renewal("a") + FAST.lease
        again = crew.start("d")
        everyone = (*standbys, again)
        eventually(lambda: again.stands_by, within=20.0, what="a replica that starts now stands by")
        free = crew.last_renewal("a") + FAST.lease
        eventually(lambda: CLOCK.now() > free + 2 * FAST.retry, within=2 * FAST.lease)
        assert [replica.identity for replica in everyone if not replica.alive or replica.leads] == []
        eventually(lambda: len(troubles(caplog)) >= len(standbys), within=20.0, what="they say what is the matter")
        assert len(troubles(caplog)) == len(standbys), "each says it once, however often it tries"
        eventually(lambda: again.said("candidate key not kept"), within=2 * FAST.lease)
        assert len(again.said("candidate key not kept")) == 1
        for replica in everyone:
            assert replica.get("/livez").status == 200
            eventually(lambda it=replica: it.get("/readyz").status == 500, within=2 * FAST.lease, what="not ready")
            readiness = replica.get("/readyz?verbose").body
            assert "[+]sched-handler-sync ok" in readiness
            assert "[-]etcd failed" in readiness
            assert "database space exceeded" in readiness
        listed = CliRunner().invoke(
            replicactl, ["get", "pods", "--endpoints", ",".join(etcd.endpoints), "--prefix", prefix]
        )
        assert (listed.exit_code, len(listed.stdout.splitlines())) == (0, PODS + 1)

        make_room(etcd, crew.gateway, keys)
        successor = eventually(
            lambda: next((replica for replica in everyone if replica.leads), None),
            within=4 * FAST.lease,
            what="one of them leads",
        )
        crew.create(pods(PODS, PODS))
        crew.until_bound(2 * PODS)
        report = crew.assert_sound(bound=2 * PODS)
        assert [term["identity"] for term in report["terms"]] == ["a", successor.identity]
        eventually(lambda: all(replica.ready for replica in everyone), within=20.0, what="all are ready again")
