"""Who leads, as it changes; whether a token is the newest; who led before; and what nobody is told."""

from __future__ import annotations

import logging
import threading

import grpc
import pytest

from component import tracing
from component.tracing.reading import read_files
from lockd.v1 import lock_pb2 as pb
from lockd.v1.lock_pb2_grpc import LockServiceStub
from tests.harness.serving import Stream, dialled, enter, serving
from tests.harness.span_model import violations
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

NAME = "job"
LOCK = pb.Lock(name=NAME)


class Observer:
    """An Observe stream, and what it brought."""

    def __init__(self, channel, after=0):
        self.got = []
        self.error = None
        self.call = LockServiceStub(channel).Observe(pb.ObserveRequest(lock=LOCK, after_revision=after))
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        try:
            for answer in self.call:
                self.got.append((answer.holder_identity, answer.fencing_token, answer.revision))
        except grpc.RpcError as error:
            self.error = error

    @property
    def holders(self):
        return [holder for holder, _, _ in self.got]

    def until(self, *holders, within=15.0):
        eventually(lambda: tuple(self.holders) == holders, within=within, what=f"{holders}, not {self.holders}")
        return self.got

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.call.cancel()
        self._thread.join(5.0)


@pytest.fixture
def daemon(etcd, prefix):
    with serving(etcd.connection, prefix) as made:
        yield made


@pytest.fixture
def channel(daemon):
    with dialled(daemon) as made:
        yield made


@pytest.fixture
def stub(channel):
    return LockServiceStub(channel)


def lead(channel, identity):
    """Lead and give it back; the token."""
    with Stream(channel, enter(NAME, identity)) as one:
        token = one.wait("leading").fencing_token
        one.half_close()
        one.end()
    return token


def test_each_change_is_told_with_its_token(channel):
    with Observer(channel) as observer:
        observer.until("")
        tokens = [lead(channel, "a"), lead(channel, "b")]
        got = observer.until("", "a", "", "b", "")
        assert [token for _, token, _ in got] == [0, tokens[0], 0, tokens[1], 0]
        revisions = [revision for *_, revision in got]
        assert revisions == sorted(set(revisions))


def test_one_that_comes_later_is_told_how_it_stands(channel):
    with Stream(channel, enter(NAME, "a")) as one:
        token = one.wait("leading").fencing_token
        with Observer(channel) as observer:
            assert observer.until("a") == [("a", token, token)]


def test_it_is_resumed_where_it_broke(etcd, daemon, channel):
    with Observer(channel) as observer:
        lead(channel, "a")
        last = observer.until("", "a", "")[-1][2]
    tokens = [lead(channel, "b"), lead(channel, "c")]
    with serving(etcd.connection, daemon.config.prefix) as other, dialled(other) as there:
        with Observer(there, after=last) as again:
            got = again.until("b", "c", "")
            assert [token for _, token, _ in got] == [*tokens, 0]
        with Observer(there, after=got[-1][2]) as again:
            lead(there, "d")
            again.until("d", "")


def test_a_revision_of_another_etcd_is_refused(channel):
    with Observer(channel, after=10**15) as observer:
        eventually(lambda: observer.error, within=10.0)
        assert observer.error.code() is grpc.StatusCode.OUT_OF_RANGE


def test_a_token_is_the_newest_until_its_term_is_over(channel, stub):
    with Stream(channel, enter(NAME, "a")) as one:
        token = one.wait("leading").fencing_token
        answer = stub.Check(pb.CheckRequest(lock=LOCK, fencing_token=token), timeout=5.0)
        assert (answer.newest, answer.current_token, answer.holder_identity) == (True, token, "a")
        one.half_close()
        one.end()
    assert not stub.Check(pb.CheckRequest(lock=LOCK, fencing_token=token), timeout=5.0).newest
    newer = lead(channel, "b")
    assert not stub.Check(pb.CheckRequest(lock=LOCK, fencing_token=token), timeout=5.0).newest
    assert newer > token


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (pb.CheckRequest(lock=LOCK, fencing_token=10**15), grpc.StatusCode.OUT_OF_RANGE),
        (pb.CheckRequest(lock=LOCK), grpc.StatusCode.INVALID_ARGUMENT),
        (pb.CheckRequest(lock=pb.Lock(name="a/b"), fencing_token=1), grpc.StatusCode.INVALID_ARGUMENT),
        (pb.CheckRequest(lock=pb.Lock(name="x" * 10_000), fencing_token=1), grpc.StatusCode.INVALID_ARGUMENT),
        (pb.CheckRequest(lock=pb.Lock(name="never"), fencing_token=1), grpc.StatusCode.OUT_OF_RANGE),
    ],
    ids=["future", "none", "slash", "10 kB", "never held"],
)
def test_a_check_that_cannot_be_right_is_refused(channel, stub, request_, code):
    lead(channel, "a")
    with pytest.raises(grpc.RpcError) as refused:
        stub.Check(request_, timeout=5.0)
    assert refused.value.code() is code


def test_a_deadline_that_has_passed_is_told_as_such(stub):
    with pytest.raises(grpc.RpcError) as refused:
        stub.Check(pb.CheckRequest(lock=LOCK, fencing_token=1), timeout=1e-6)
    assert refused.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def test_the_history_tells_each_term(channel, stub):
    tokens = [lead(channel, "a"), lead(channel, "b")]
    terms = stub.History(pb.HistoryRequest(lock=LOCK), timeout=5.0).terms
    assert [(t.identity, t.fencing_token, t.takeover, t.ended_by) for t in terms] == [
        ("a", tokens[0], "first", "released"),
        ("b", tokens[1], "release", "released"),
    ]


def test_an_acquisition_is_told_to_its_holder_alone(channel, stub, tmp_path, caplog):
    file = tmp_path / "trace.jsonl"
    spans = tracing.setup(service="lockd", instance="test", trace_file=file)
    caller = tracing.new_traceparent()
    with caplog.at_level(logging.DEBUG), Observer(channel) as observer:
        metadata = (("traceparent", caller),)
        with Stream(channel, enter(NAME, "a"), metadata=metadata) as one:
            leading = one.wait("leading")
            one.wait("kept_alive")
            one.half_close()
            one.end()
        observer.until("", "a", "")
        history = stub.History(pb.HistoryRequest(lock=LOCK), timeout=5.0, metadata=metadata)
        assert leading.traceparent.split("-")[1] == caller.split("-")[1], "the term's anchor is in the caller's trace"
        eventually(lambda: leading.traceparent.split("-")[2] in file.read_text(), within=10.0, what="the anchor's span")
        assert spans.shutdown(5.0)
        told = f"{observer.got} {history} {caplog.text} {file.read_text()}"
    assert leading.acquisition.partition("-")[0] not in told
    found = read_files([file])
    assert [problem for span in found for problem in violations(span)] == []
    (call,) = [span for span in found if span.name == "lockd.v1.LockService/History"]
    assert (call.parent, call.attributes["rpc.response.status_code"]) == (caller.split("-")[2], "OK")
