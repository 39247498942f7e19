"""What etcd's own message classes encode is told apart by its first bytes."""

import pytest

from chaos.proxy.messages import MoreNeeded, Reply, Strange, is_transaction, reply
from lockd.etcd import wire
from lockd.etcd.model import txn_request
from lockd.fencing import Guard, GuardedWrite, ObjectWrite, Token
from lockd.ports import Compare, Delete, Field, Get, Put, Txn
from tests.harness.http2 import message

GUARD = Guard("/lockd/terms/ns/name", Token(7), b'{"holderIdentity":"a"}')
TRANSACTIONS = {
    "create": Txn((Compare("/a", Field.MOD, 0),), (Put("/a", b"1"),), (Get("/a"),)),
    "renew": Txn((Compare("/a", Field.MOD, 2**40), Compare("/b", Field.VALUE, b"v")), (Put("/a", b"1"),)),
    "guarded": GuardedWrite.of(GUARD, [ObjectWrite("/pods/a", 3, b"x" * 5000)]).txn(),
    "only reads": Txn((), (Get("/a"),)),
    "only writes": Txn((), (Put("/a", b"1", lease=5), Delete("/b"))),
}
OTHERS = {
    "range": wire.RangeRequest(key=b"/lockd/leases/a", range_end=b"/lockd/leases/b", limit=5),
    "range of all": wire.RangeRequest(key=b"\0", range_end=b"\0"),
    "range of an odd key": wire.RangeRequest(key=b"\x1azz"),
    "put": wire.PutRequest(key=b"/lockd/a", value=b"1"),
    "deletion": wire.DeleteRangeRequest(key=b"/lockd/a"),
    "watch": wire.WatchRequest(create_request={"key": b"/lockd/", "range_end": b"/lockd0"}),
    "lease": wire.LeaseGrantRequest(TTL=15),
    "keepalive": wire.LeaseKeepAliveRequest(ID=2**62),
    "compaction": wire.CompactionRequest(revision=5, physical=True),
    "status": wire.StatusRequest(),
    "user": wire.AuthenticateRequest(name="root", password="secret"),  # noqa: S106
}


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_transactions_are_known_as_such(name):
    assert is_transaction(message(txn_request(TRANSACTIONS[name]).SerializeToString()))


@pytest.mark.parametrize("name", OTHERS)
def test_other_calls_are_none(name):
    assert not is_transaction(message(OTHERS[name].SerializeToString()))


def test_a_compressed_message_is_none():
    assert not is_transaction(b"\1" + message(txn_request(TRANSACTIONS["renew"]).SerializeToString())[1:])


def told(look, data):
    """What is made of each beginning of some bytes, once something is."""
    for size in range(len(data) + 1):
        try:
            yield look(data[:size])
        except MoreNeeded:
            continue


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_a_beginning_says_nothing_wrong(name):
    data = message(txn_request(TRANSACTIONS[name]).SerializeToString())
    assert set(told(is_transaction, data)) == {True}


def header(revision):
    return wire.TxnResponse().header.__class__(cluster_id=2**63 + 1, member_id=3, revision=revision, raft_term=4)


@pytest.mark.parametrize("succeeded", [True, False])
@pytest.mark.parametrize("revision", [0, 1, 2**40])
@pytest.mark.parametrize("many", [False, True])
def test_a_reply_tells_its_revision_and_whether_it_was_committed(succeeded, revision, many):
    found = wire.TxnResponse(header=header(revision), succeeded=succeeded)
    if many:
        found.responses.add().response_range.header.revision = 9
    data = message(found.SerializeToString())
    assert reply(data) == Reply(revision, succeeded)
    assert set(told(reply, data)) == {Reply(revision, succeeded)}


def test_what_is_no_reply_is_strange():
    for data in (b"\1\0\0\0\2ab", message(b"\x08\x01"), message(b"")):
        with pytest.raises(Strange):
            reply(data)
