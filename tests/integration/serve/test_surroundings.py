"""A lockd whose etcd goes, comes back, or is another one."""

from __future__ import annotations

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from lockd.etcd.embedded import Embedded
from lockd.v1 import lock_pb2 as pb
from lockd.v1.lock_pb2_grpc import LockServiceStub
from tests.harness.etcd import heal, restore, save
from tests.harness.serving import Stream, dialled, enter, serving
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

NAME = "job"
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


def health(channel):
    return health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10.0).status


def test_an_etcd_that_goes_is_told_and_terms_outlive_a_short_outage(prefix):
    with (
        Embedded.start() as own,
        serving(own.connection, prefix) as daemon,
        dialled(daemon) as channel,
        Stream(channel, enter(NAME, lease_duration=60.0, renew_deadline=50.0, retry_period=0.6)) as one,
    ):
        token = one.wait("leading").fencing_token
        own.members[0].pause()
        eventually(lambda: health(channel) == NOT_SERVING, within=30.0)
        check = pb.CheckRequest(lock=pb.Lock(name=NAME), fencing_token=token)
        with pytest.raises(grpc.RpcError) as refused:
            LockServiceStub(channel).Check(check, timeout=1.0)
        late = {grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE}  # told by the client, or by the daemon
        assert refused.value.code() in late
        heal(own)
        seen = len(one.all("kept_alive"))
        eventually(lambda: len(one.all("kept_alive")) > seen, within=30.0, what="it is kept alive again")
        assert one.leads
        eventually(lambda: health(channel) == SERVING, within=30.0)


@pytest.mark.slow
def test_a_restored_etcd_ends_the_process(prefix, tmp_path):
    with Embedded.start() as own, serving(own.connection, prefix) as daemon, dialled(daemon) as channel:
        save(own, tmp_path)
        with Stream(channel, enter(NAME, lease_duration=30.0)) as one:
            one.wait("leading", within=30.0)
            eventually(lambda: one.all("kept_alive"), within=30.0)
            restore(own, tmp_path)
            assert daemon.wait() == 1
