"""Too many streams, wrong certificates, broken connections: clear errors, and nothing that is left behind."""

from __future__ import annotations

import queue
import threading

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from lockd.daemon.campaign import Campaign
from lockd.daemon.listening import Security
from lockd.daemon.refusals import Refusal
from lockd.ports import LockName
from lockd.record import LeaderRecord
from lockd.v1 import lock_pb2 as pb
from lockd.v1.lock_pb2_grpc import LockServiceStub
from tests.harness import certs
from tests.harness.etcd_load import leases, watchers
from tests.harness.proxy import Proxy
from tests.harness.serving import NAMESPACE, Stream, dialled, enter, serving
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

NAME = "job"
LOCK = pb.Lock(name=NAME)


def kept(etcd):
    """What a stream may leave behind in etcd: leases and watchers."""
    return leases(etcd), watchers(etcd)


def steady(etcd):
    """What is kept once nothing comes or goes: a watch is there a little later than what it was asked for."""
    seen = []

    def look():
        seen.append(kept(etcd))
        return len(seen) >= 20 and len(set(seen[-20:])) == 1

    eventually(look, within=30.0, what="nothing comes or goes")
    return seen[-1]


def no_more(etcd, held):
    return all(now <= before for now, before in zip(kept(etcd), held, strict=True))


def threads():
    """Those of lockd's that a stream may leave behind; the pool keeps its own for the next call."""
    kinds = ("lockd/campaign", "lock-feed", "etcd/watch", "work")
    return sorted(thread.name for thread in threading.enumerate() if thread.name.startswith(kinds))


def healthy(channel):
    answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10.0)
    return answer.status == health_pb2.HealthCheckResponse.SERVING


def observe(channel):
    return LockServiceStub(channel).Observe(pb.ObserveRequest(lock=LOCK))


def test_a_thousand_streams_of_one_client_leave_room_for_short_calls(etcd, prefix, gateway):
    with serving(etcd.connection, prefix) as daemon, dialled(daemon) as channel, dialled(daemon) as another:
        with Stream(another, enter(NAME, "a")) as one:
            leading = one.wait("leading")
            held, before = steady(etcd), threads()
            calls = [observe(channel) for _ in range(1000)]
            assert healthy(channel)
            stub = LockServiceStub(channel)
            assert stub.Check(pb.CheckRequest(lock=LOCK, fencing_token=leading.fencing_token), timeout=10.0).newest
            # One is the campaign's: both channels are of the same client, by its address.
            eventually(
                lambda: sum(call.done() for call in calls) == 1000 - 255, within=60.0, what="the rest is refused"
            )
            refused = [call for call in calls if call.done()]
            assert {call.code() for call in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
            assert all("256" in call.details() for call in refused)
            assert daemon.admission.open == 256
            assert healthy(channel)
            resign = pb.ResignRequest(lock=LOCK, fencing_token=leading.fencing_token, acquisition=leading.acquisition)
            assert stub.Resign(resign, timeout=10.0).released
            for call in calls:
                call.cancel()
            eventually(lambda: daemon.admission.open <= 1, within=60.0, what="all streams are gone")
            one.end()
        eventually(lambda: daemon.admission.open == 0, within=30.0)
        eventually(lambda: daemon.backend.hub.feed.locks == 0, within=30.0, what="nothing is watched")
        eventually(lambda: len(threads()) <= len(before), within=30.0, what=f"threads beyond {before}")
        eventually(lambda: no_more(etcd, held), within=30.0, what="etcd keeps no more than before")


def test_the_limit_of_all_clients_is_one_of_all_services(etcd, prefix):
    with serving(etcd.connection, prefix, max_streams=3) as daemon, dialled(daemon) as channel:
        reflecting = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(
            iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        )
        names = {service.name for service in next(reflecting).list_services_response.service}
        assert names >= {"lockd.v1.LockService", "grpc.health.v1.Health"}
        reflecting.cancel()
        eventually(lambda: daemon.admission.open == 0, within=10.0)
        watching = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        next(watching)
        calls = [observe(channel) for _ in range(2)]
        for call in calls:
            next(call)
        with pytest.raises(grpc.RpcError) as refused:
            next(observe(channel))
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "ask another one" in refused.value.details()
        assert healthy(channel)
        watching.cancel()
        eventually(lambda: daemon.admission.open == 2, within=10.0)
        next(observe(channel))


def test_campaigns_that_break_in_every_way_leave_nothing(etcd, prefix, gateway):
    with (
        serving(etcd.connection, prefix) as daemon,
        Proxy(daemon.addresses[0]) as proxy,
        dialled(daemon) as channel,
        Stream(channel, enter(NAME, "first")) as one,
    ):
        one.wait("leading")
        held, before = steady(etcd), threads()
        for way in ("cancel", "half-close", "reset", "bad", "none"):
            with dialled(proxy.endpoint) as there:
                firsts = {"bad": [enter("a/b")], "none": []}.get(way, [enter(NAME, way)])
                with Stream(there, *firsts) as stream:
                    if firsts and way != "bad":
                        stream.wait("waiting")
                    if way == "half-close":
                        stream.half_close()
                    elif way == "reset":
                        proxy.reset()
                    if way not in ("cancel", "none"):
                        stream.end()
        eventually(lambda: daemon.admission.open == 1, within=30.0)
        eventually(lambda: len(threads()) <= len(before), within=30.0, what=f"threads beyond {before}")
        eventually(lambda: no_more(etcd, held), within=30.0, what="etcd keeps no more than before")
        assert one.leads


def test_a_connection_that_breaks_is_never_taken_for_a_half_close(etcd, prefix, gateway):
    """Whoever was cut off may be acting: its term stays. Both ends of a stream look the same for a moment."""
    with serving(etcd.connection, prefix) as daemon, Proxy(daemon.addresses[0]) as proxy:
        for number in range(20):
            name = f"{NAME}-{number}"
            with dialled(proxy.endpoint) as there, Stream(there, enter(name, "a")) as stream:
                stream.wait("leading")
                proxy.reset()
                stream.end()
            eventually(lambda: daemon.admission.open == 0, within=20.0)
            value = gateway.range(LockName(prefix, NAMESPACE, name).lease, timeout=5.0).kvs[0].value
            assert LeaderRecord.parse(value).holder_identity == "a"


BAD = b"\xff\xff\xff"
"""No message in protobuf."""


def bytes_to(channel, method, *kinds):
    """A method that takes what is sent as it is."""
    return getattr(channel, "_".join(kinds))(f"/lockd.v1.LockService/{method}", request_serializer=lambda data: data)


def test_what_cannot_be_decoded_is_an_invalid_argument(etcd, prefix, caplog):
    with serving(etcd.connection, prefix) as daemon, dialled(daemon) as channel:
        calls = (
            lambda: bytes_to(channel, "Check", "unary", "unary")(BAD, timeout=20.0),
            lambda: list(bytes_to(channel, "Observe", "unary", "stream")(BAD, timeout=20.0)),
            lambda: list(bytes_to(channel, "Campaign", "stream", "stream")(iter([BAD]), timeout=20.0)),
        )
        for call in calls:
            with pytest.raises(grpc.RpcError) as refused:
                call()
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert "can't be decoded" in refused.value.details()
        eventually(lambda: daemon.admission.open == 0, within=20.0)
    assert [record for record in caplog.records if record.exc_info] == []


def test_a_message_that_cannot_be_decoded_ends_the_stream_and_not_the_term(etcd, prefix, gateway):
    with serving(etcd.connection, prefix) as daemon, dialled(daemon) as channel:
        said = queue.SimpleQueue()
        said.put(enter(NAME, "a").SerializeToString())
        answers = bytes_to(channel, "Campaign", "stream", "stream")(iter(said.get, None), timeout=60.0)
        assert any(pb.CampaignResponse.FromString(answer).WhichOneof("kind") == "leading" for answer in answers)
        said.put(BAD)
        with pytest.raises(grpc.RpcError) as refused:
            list(answers)
        said.put(None)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        value = gateway.range(LockName(prefix, NAMESPACE, NAME).lease, timeout=5.0).kvs[0].value
        assert LeaderRecord.parse(value).holder_identity == "a"


class Breaking:
    """A call's context that breaks right after the answer to the client's end has gone out.

    grpc takes a broken connection for an end of the client's side, and tells of the break a moment later.
    """

    active = True

    def is_active(self):
        return self.active


def test_a_break_that_is_told_of_after_the_end_of_the_clients_side_releases_nothing(etcd, prefix, gateway):
    with serving(etcd.connection, prefix) as daemon:
        said, context = queue.SimpleQueue(), Breaking()
        campaign = Campaign(daemon.backend, iter(said.get, None), context, None)
        answers = campaign.answers()
        said.put(enter(NAME, "a"))
        assert any(answer.WhichOneof("kind") == "leading" for answer in answers)
        said.put(None)
        next(answers)
        context.active = False
        campaign.broken()
        with pytest.raises(Refusal):
            list(answers)
        value = gateway.range(LockName(prefix, NAMESPACE, NAME).lease, timeout=5.0).kvs[0].value
        assert LeaderRecord.parse(value).holder_identity == "a"


def secure(*names):
    """A client's credentials, with the certificate of that name, if any."""
    pair = [certs.path(f"{name}.{kind}").read_bytes() for name in names for kind in ("key", "pem")]
    return grpc.ssl_channel_credentials(certs.path("ca.pem").read_bytes(), *pair)


SECURITY = Security(cert=certs.path("server.pem"), key=certs.path("server.key"), client_ca=certs.path("ca.pem"))


def test_clients_prove_themselves_by_certificates(etcd, prefix, gateway):
    with serving(etcd.connection, prefix, security=SECURITY) as daemon:
        with dialled(daemon, credentials=secure("client")) as channel:
            assert healthy(channel)
            with Stream(channel, enter(NAME, "a")) as one:
                one.wait("leading")
        eventually(lambda: daemon.admission.open == 0, within=20.0)
        held, before = steady(etcd), threads()
        wrong = [secure("impostor"), secure()]
        for credentials in wrong:
            with dialled(daemon, credentials=credentials) as channel:
                with pytest.raises(grpc.RpcError) as refused:
                    next(observe(channel))
                assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
                assert any(
                    word in refused.value.details().lower() for word in ("handshake", "ssl", "tls", "closed", "reset")
                )
        with dialled(daemon) as channel, pytest.raises(grpc.RpcError) as refused:
            next(observe(channel))
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        assert daemon.admission.open == 0
        eventually(lambda: len(threads()) <= len(before), within=20.0, what=f"threads beyond {before}")
        eventually(lambda: no_more(etcd, held), within=30.0, what="etcd keeps no more than before")
