import json

import pytest

from chaos.cluster import state as files
from chaos.cluster.local import LocalCluster
from component.process import Gone
from lockd.etcd.model import RangeReply
from lockd.ports import KeyValue
from lockd.record import LeaderRecord
from tests.harness.cluster import STATE


class FakeGateway:
    def __init__(self, value):
        self.value = value

    def range(self, key, *, timeout):
        assert key == "/lockd/leases/kube-system/kube-scheduler"
        kvs = () if self.value is None else (KeyValue(key, self.value, 1),)
        return RangeReply(kvs, len(kvs), more=False, revision=1)


@pytest.fixture
def cluster(tmp_path):
    files.write(tmp_path, STATE)
    return lambda value=None: LocalCluster(tmp_path, FakeGateway(value))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (LeaderRecord(holder_identity="host_1", lease_duration=3.0).encode(), "replica-1"),
        (LeaderRecord(holder_identity="a-stranger", lease_duration=3.0).encode(), None),
        (LeaderRecord().encode(), None),
        (b"garbage", None),
        (None, None),
    ],
)
def test_the_leader_is_whom_etcd_names(cluster, value, name):
    leader = cluster(value).leader()
    assert (leader.name if leader is not None else None) == name


def test_targets_say_which_process_they_are(cluster):
    (replica,) = cluster().replicas()
    assert (replica.identity, replica.pid, replica.started, replica.address) == (
        "host_1",
        12,
        1002,
        "http://127.0.0.1:1002",
    )
    (member,) = cluster().etcd_members()
    assert (member.name, member.address) == ("etcd-1", "127.0.0.1:1001")


@pytest.mark.parametrize("method", ["kill", "terminate", "pause", "resume"])
def test_whoever_has_the_pid_of_a_target_that_ended_is_not_hurt(cluster, method, tmp_path):
    document = json.loads((tmp_path / "cluster.json").read_text())
    document["replicas"][0] |= {"pid": 1, "started": 999_999_999}  # pid 1 is there, and began at another time
    (tmp_path / "cluster.json").write_text(json.dumps(document))
    one = cluster()
    with pytest.raises(Gone):
        getattr(one, method)(one.replicas()[0])
