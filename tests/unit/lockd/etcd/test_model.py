from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockd.etcd import model, wire
from lockd.ports import Compare, Delete, DeleteReply, Field, Get, GetReply, KeyValue, Put, PutReply, Txn, TxnReply

keys = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
revisions = st.integers(0, 2**62)
compares = st.one_of(
    st.builds(Compare, keys, st.sampled_from([Field.MOD, Field.CREATE]), revisions),
    st.builds(Compare, keys, st.just(Field.VALUE), st.binary(max_size=8)),
)
leaves = st.one_of(
    st.builds(Put, keys, st.binary(max_size=8), revisions), st.builds(Delete, keys), st.builds(Get, keys)
)


def txns(ops):
    several = st.lists(ops, max_size=3).map(tuple)
    return st.builds(Txn, st.lists(compares, max_size=3).map(tuple), several, several)


all_txns = txns(st.recursive(leaves, txns, max_leaves=5))


def read_compare(compare):
    fields = {1: (Field.CREATE, "create_revision"), 2: (Field.MOD, "mod_revision"), 3: (Field.VALUE, "value")}
    field, name = fields[compare.target]
    assert (compare.result, compare.WhichOneof("target_union")) == (0, name)
    return Compare(model.decode_key(compare.key), field, getattr(compare, name))


def read_op(op):
    match op.WhichOneof("request"):
        case "request_put":
            put = op.request_put
            return Put(model.decode_key(put.key), put.value, put.lease)
        case "request_delete_range":
            assert op.request_delete_range.range_end == b""
            return Delete(model.decode_key(op.request_delete_range.key))
        case "request_range":
            assert op.request_range.range_end == b""
            return Get(model.decode_key(op.request_range.key))
        case "request_txn":
            return read_txn(op.request_txn)


def read_txn(request):
    return Txn(
        tuple(map(read_compare, request.compare)),
        tuple(map(read_op, request.success)),
        tuple(map(read_op, request.failure)),
    )


@given(all_txns)
@settings(max_examples=50)
def test_a_transaction_says_on_the_wire_what_it_says_here(txn):
    serialized = model.txn_request(txn).SerializeToString()
    assert serialized == model.txn_request(txn).SerializeToString()  # a copy is the same bytes
    assert read_txn(wire.TxnRequest.FromString(serialized)) == txn


def test_a_reply_is_read_with_the_outer_revision_throughout():
    kv = {"key": b"k", "value": b"v", "mod_revision": 7, "create_revision": 5, "version": 2, "lease": 3}
    response = wire.TxnResponse(
        header={"revision": 9},
        succeeded=True,
        responses=[
            {"response_put": {}},
            {"response_delete_range": {"deleted": 1}},
            {"response_range": {"kvs": [kv], "count": 1}},
            {"response_range": {}},
            {"response_txn": {"succeeded": False, "responses": [{"response_range": {}}]}},
        ],
    )
    assert model.txn_reply(response, 9) == TxnReply(
        True,
        9,
        (
            PutReply(),
            DeleteReply(1),
            GetReply(KeyValue("k", b"v", 7, 5, 2, 3)),
            GetReply(None),
            TxnReply(False, 9, (GetReply(None),)),
        ),
    )


@pytest.mark.parametrize(
    ("ops", "expected"),
    [((), False), ((Get("a"),), False), ((Put("a", b""),), True), ((Delete("a"),), True)],
)
def test_only_what_can_change_something_is_a_write(ops, expected):
    assert model.writes(Txn((), ops)) is expected
    assert model.writes(Txn((), (), ops)) is expected
    assert model.writes(Txn((), (Get("b"), Txn((), (), ops)))) is expected


@given(st.binary(min_size=1, max_size=4), st.binary(max_size=4))
def test_a_prefix_covers_the_keys_that_begin_with_it_and_no_others(prefix, other):
    end = model.range_end(prefix)

    def covers(key):
        return key >= prefix and (end == b"\0" or key < end)

    assert covers(prefix + other)
    assert covers(other) is other.startswith(prefix)


def test_the_empty_prefix_covers_all_keys():
    assert model.key_range("", prefix=True) == (b"\0", b"\0")


@given(st.binary(max_size=6))
def test_keys_that_are_no_text_survive(key):
    assert model.encode_key(model.decode_key(key)) == key


def test_a_deletion_has_no_value_and_an_empty_one_has():
    event = {"type": 1, "kv": {"key": b"k", "mod_revision": 4}}
    assert model.watch_event(wire.message("mvccpb.Event")(**event)).value is None
    event["type"] = 0
    assert model.watch_event(wire.message("mvccpb.Event")(**event)).value == b""
