"""Each answer of the table, given by a server of our own: what arrives is classed, whichever way it was asked for."""

from __future__ import annotations

import queue
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from lockd.errors import Rejected, Unavailable
from lockd.etcd.connection import Connection
from lockd.ports import Get, Put, Txn
from tests.harness.codes import MAYBE, TABLE
from tests.harness.etcd import opened

WRITE, READ = Txn((), (Put("/k", b"v"),)), Txn((), (Get("/k"),))


class Refuser(grpc.GenericRpcHandler):
    """Ends every call with one answer."""

    def __init__(self):
        self.answer = (grpc.StatusCode.OK, "")
        self.metadata = []

    def service(self, _details):
        return grpc.unary_unary_rpc_method_handler(self._refuse)

    def _refuse(self, _request, context):
        self.metadata.append(dict(context.invocation_metadata()))
        context.abort(*self.answer)


@pytest.fixture(scope="module")
def refuser():
    handler = Refuser()
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool, handlers=(handler,))
        handler.port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield handler
        server.stop(0.0).wait(5.0)


@pytest.fixture
def gateway(refuser):
    refuser.metadata.clear()
    with opened(Connection(endpoints=(f"127.0.0.1:{refuser.port}",))) as gateway:
        yield gateway


@pytest.mark.parametrize(("code", "details", "kind"), TABLE)
def test_row_29_every_answer_is_classed(refuser, gateway, code, details, kind):
    refuser.answer = (grpc.StatusCode[code], details)
    replies = queue.SimpleQueue()
    gateway.send(WRITE, replies.put, timeout=5.0)
    assert type(replies.get(timeout=5.0)) is kind
    with pytest.raises(kind) as caught:
        gateway.txn(WRITE, timeout=5.0)
    assert type(caught.value) is kind
    expected = Unavailable if kind is MAYBE else kind
    with pytest.raises(expected):
        gateway.txn(READ, timeout=5.0)
    with pytest.raises(expected) as caught:
        gateway.range("/k", timeout=0.2)
    assert isinstance(caught.value, Rejected) is issubclass(kind, Rejected)


def test_every_call_has_a_deadline_and_asks_for_a_leader(refuser, gateway):
    refuser.answer = (grpc.StatusCode.INVALID_ARGUMENT, "etcdserver: no")
    calls = (
        lambda: gateway.range("/k", timeout=5.0),
        lambda: gateway.list("/k", timeout=5.0),
        lambda: gateway.txn(WRITE, timeout=5.0),
        lambda: gateway.lease_grant(5, timeout=5.0),
        lambda: gateway.lease_keepalive(5, timeout=5.0),
        lambda: gateway.lease_revoke(5, timeout=5.0),
        lambda: gateway.compact(5, timeout=5.0),
    )
    for call in calls:
        with pytest.raises(Rejected):
            call()
    assert [metadata.get("hasleader") for metadata in refuser.metadata] == ["true"] * len(calls)


def test_what_a_single_member_may_answer_does_not_ask_for_a_leader(refuser, gateway):
    refuser.answer = (grpc.StatusCode.INVALID_ARGUMENT, "etcdserver: no")
    for call in (
        lambda: gateway.status(gateway.connection.endpoints[0], timeout=5.0),
        lambda: gateway.range("/k", serializable=True, timeout=5.0),
    ):
        with pytest.raises(Rejected):
            call()
    assert [metadata.get("hasleader") for metadata in refuser.metadata] == [None, None]
