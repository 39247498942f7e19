"""Campaigns on a real lockd and a real etcd: leading, keeping alive, giving back, breaking, resuming."""

from __future__ import annotations

import json

import grpc
import pytest

from lockd.ports import LockName, Put, Txn
from lockd.record import LeaderRecord, TermValue
from lockd.v1 import lock_pb2 as pb
from lockd.v1.lock_pb2_grpc import LockServiceStub
from tests.harness.serving import CLOCK, NAMESPACE, QUICK, Stream, dialled, duration, enter, resume, serving
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

NAME = "job"


@pytest.fixture
def daemon(etcd, prefix):
    with serving(etcd.connection, prefix) as made:
        yield made


@pytest.fixture
def channel(daemon):
    with dialled(daemon) as made:
        yield made


def lock_of(daemon):
    return LockName(daemon.config.prefix, NAMESPACE, NAME)


def kept(gateway, key):
    return gateway.range(key, timeout=5.0).kvs[0]


def record_of(gateway, daemon):
    return LeaderRecord.parse(kept(gateway, lock_of(daemon).lease).value)


def test_one_leads_and_the_next_follows_a_half_close_at_once(daemon, channel, gateway):
    with (
        Stream(channel, enter(NAME, "a")) as first,
        Stream(channel, enter(NAME, "b"), after=first) as second,
    ):
        leading = first.wait("leading")
        assert second.wait("waiting").holder_identity == "a"
        assert leading.identity == "a"
        assert leading.fencing_token == kept(gateway, lock_of(daemon).term).mod_revision
        assert len(bytes.fromhex(leading.acquisition.partition("-")[0])) == 16
        record = record_of(gateway, daemon)
        assert (record.holder_identity, record.fenced, record.traceparent) == ("a", False, leading.traceparent)
        first.half_close()
        follower = second.wait("leading", within=15.0)  # a lease would take 30 s
        assert follower.fencing_token > leading.fencing_token
        assert follower.acquisition != leading.acquisition
        assert first.end()[0] is grpc.StatusCode.OK
        assert first.all("ended")[0].released


def test_a_keep_alive_is_answered_once_it_is_committed(daemon, channel, gateway):
    with Stream(channel, enter(NAME), beat=None) as one:
        one.wait("leading")
        before = kept(gateway, lock_of(daemon).lease).mod_revision
        number = one.beat()
        assert one.wait("kept_alive").sequence == number
        assert kept(gateway, lock_of(daemon).lease).mod_revision > before


def test_without_keep_alives_nothing_is_renewed_and_the_lease_runs_out(daemon, channel, gateway):
    with Stream(channel, enter(NAME, "silent", **QUICK), beat=None) as one:
        token = one.wait("leading").fencing_token
        with Stream(channel, enter(NAME, "next")) as second:
            second.wait("waiting")
            code, text = one.end()
            assert (code, "silent" in text) == (grpc.StatusCode.ABORTED, True)
            assert not one.all("ended")[0].released
            assert second.wait("leading").fencing_token > token
            assert record_of(gateway, daemon).takeover == "expiry"


def test_a_standby_that_is_silent_is_given_up(channel):
    with (
        Stream(channel, enter(NAME, "a")) as one,
        Stream(channel, enter(NAME, "b", **QUICK), beat=None, after=one) as second,
    ):
        one.wait("leading")
        assert second.end()[0] is grpc.StatusCode.ABORTED
        assert not second.all("leading")


def test_a_stream_that_breaks_releases_nothing(daemon, channel, gateway):
    with Stream(channel, enter(NAME, "a")) as one:
        one.wait("leading")
        one.cancel()
        eventually(lambda: daemon.admission.open == 0, within=10.0)
        assert record_of(gateway, daemon).holder_identity == "a"


def test_a_term_is_resumed_on_another_lockd(etcd, daemon, channel, gateway):
    with Stream(channel, enter(NAME, "a")) as one:
        leading = one.wait("leading")
    with serving(etcd.connection, daemon.config.prefix) as other, dialled(other) as there:
        with Stream(there, resume(NAME, leading, retry_period=duration(0.4))) as again:
            resumed = again.wait("leading")
            assert (resumed.fencing_token, resumed.acquisition) == (leading.fencing_token, leading.acquisition)
            assert (resumed.identity, resumed.traceparent) == ("a", leading.traceparent)
            assert resumed.lease_duration.seconds == 30
            again.wait("kept_alive")
            again.half_close()
            assert again.end()[0] is grpc.StatusCode.OK
        assert record_of(gateway, daemon).holder_identity == ""


def test_the_older_stream_of_a_term_ends_when_it_is_resumed(channel):
    with Stream(channel, enter(NAME, "a")) as one:
        leading = one.wait("leading")
        with Stream(channel, resume(NAME, leading)) as again:
            again.wait("leading")
            assert one.end()[0] is grpc.StatusCode.ABORTED
            assert not one.all("ended")[0].released
            assert again.leads


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"acquisition": "0" * 32}, grpc.StatusCode.PERMISSION_DENIED, "acquisition"),
        ({"fencing_token": 10**15}, grpc.StatusCode.OUT_OF_RANGE, "was not given out"),
        ({"fencing_token": 1}, grpc.StatusCode.FAILED_PRECONDITION, "is over"),
        ({"fencing_token": 0}, grpc.StatusCode.INVALID_ARGUMENT, "above 0"),
        ({"renew_deadline": duration(60.0)}, grpc.StatusCode.INVALID_ARGUMENT, "renew_deadline"),
    ],
    ids=["acquisition", "future", "past", "zero", "deadline"],
)
def test_only_the_holder_resumes(channel, fields, code, words):
    with Stream(channel, enter(NAME, "a")) as one:
        leading = one.wait("leading")
        with Stream(channel, resume(NAME, leading, **fields)) as again:
            got, text = again.end()
            assert (got, words in text) == (code, True), text
        assert one.leads


def test_resign_frees_the_lock_from_anywhere(channel):
    stub = LockServiceStub(channel)
    lock = pb.Lock(name=NAME)
    with Stream(channel, enter(NAME, "a")) as one:
        leading = one.wait("leading")
        wrong = pb.ResignRequest(lock=lock, fencing_token=leading.fencing_token, acquisition="guess")
        with pytest.raises(grpc.RpcError) as refused:
            stub.Resign(wrong, timeout=5.0)
        assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
        assert leading.acquisition not in refused.value.details()
        right = pb.ResignRequest(lock=lock, fencing_token=leading.fencing_token, acquisition=leading.acquisition)
        assert stub.Resign(right, timeout=5.0).released
        assert one.end()[0] is grpc.StatusCode.ABORTED
        assert not stub.Resign(right, timeout=5.0).released
        assert stub.History(pb.HistoryRequest(lock=lock), timeout=5.0).terms[0].ended_by == "released"


def test_a_wish_for_another_leader_drains(daemon, channel, gateway):
    with Stream(channel, enter(NAME, "a")) as one:
        token = one.wait("leading").fencing_token
        wish = json.dumps({"candidate": "b", "token": token}).encode()
        gateway.txn(Txn((), (Put(lock_of(daemon).switchover, wish),)), timeout=5.0)
        assert one.wait("draining").successor == "b"
        one.half_close()
        assert one.end()[0] is grpc.StatusCode.OK
        assert record_of(gateway, daemon).preferred_holder == "b"


def test_waiting_has_an_end_where_it_is_asked_for(channel):
    with Stream(channel, enter(NAME, "a")) as one:
        one.wait("leading")
        with Stream(channel, enter(NAME, "b", wait=0.5)) as second:
            assert second.end()[0] is grpc.StatusCode.DEADLINE_EXCEEDED


def test_what_the_client_may_count_on(channel):
    """The moment of sending plus the deadline is never later than lockd's own gate."""
    with Stream(channel, enter(NAME), beat=0.2) as one:
        leading = one.wait("leading")
        assert leading.sequence in one.sent
        eventually(lambda: len(one.all("kept_alive")) >= 5, within=15.0)
        numbers = [answer.sequence for answer in one.all("kept_alive")]
        assert numbers == sorted(set(numbers))
        assert all(one.sent[number] <= CLOCK.now() for number in numbers)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (enter("a/b"), ["lock.name", "'/'"]),
        (enter("x" * 10_000), ["lock.name", "10000 bytes", "253"]),
        (enter(""), ["lock.name must not be empty"]),
        (enter("a", "b/c"), ["identity"]),
        (enter("a", lease_duration=0.1), ["lease_duration must be from 1s to 1h"]),
        (enter("a", renew_deadline=90.0), ["lease_duration (30s) must exceed renew_deadline (90s)"]),
        (enter("a/b", "c/d", lease_duration=0.1), ["lock.name", "identity", "lease_duration"]),
        (enter("a", wait=-1.0), ["wait must be above 0"]),
    ],
    ids=["slash", "10 kB", "empty", "identity", "lease", "deadline", "all", "wait"],
)
def test_a_bad_request_is_told_every_problem(channel, request_, words):
    with Stream(channel, request_) as one:
        code, text = one.end()
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert [word for word in words if word not in text] == [], text


@pytest.mark.parametrize(
    "requests",
    [(pb.CampaignRequest(keep_alive=pb.KeepAlive(sequence=1)),), (enter(NAME), enter(NAME)), (pb.CampaignRequest(),)],
    ids=["keep-alive first", "enter twice", "nothing"],
)
def test_a_message_out_of_turn_is_refused(channel, requests):
    with Stream(channel, *requests) as one:
        assert one.end()[0] is grpc.StatusCode.FAILED_PRECONDITION


def test_a_stream_that_is_closed_at_once_is_refused(channel):
    with Stream(channel) as one:
        one.half_close()
        assert one.end()[0] is grpc.StatusCode.FAILED_PRECONDITION


def test_going_down_releases_nothing_and_sends_clients_elsewhere(etcd, prefix, gateway):
    with (
        serving(etcd.connection, prefix) as daemon,
        dialled(daemon) as channel,
        Stream(channel, enter(NAME, "a")) as one,
        Stream(channel, enter(NAME, "b"), after=one) as two,
    ):
        leading = one.wait("leading")
        two.wait("waiting")
        assert daemon.stop() == ()
        assert one.end()[0] is grpc.StatusCode.UNAVAILABLE
        assert two.end()[0] is grpc.StatusCode.UNAVAILABLE
    assert TermValue.parse(kept(gateway, LockName(prefix, NAMESPACE, NAME).term).value).holder_identity == "a"
    with (
        serving(etcd.connection, prefix) as other,
        dialled(other) as there,
        Stream(there, resume(NAME, leading)) as again,
    ):
        assert again.wait("leading").fencing_token == leading.fencing_token


def test_durations_follow_from_the_lease(channel):
    request = pb.CampaignRequest(enter=pb.Enter(lock=pb.Lock(name=NAME)))
    with Stream(channel, request) as one:
        leading = one.wait("leading")
        told = [getattr(leading, field).ToMilliseconds() for field in QUICK]
        assert told == [15_000, 10_000, 2_000]
        assert leading.identity.startswith("client_")
