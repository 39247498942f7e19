from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockd.ports import KeyValue
from replica.api.codec import Undecodable, bound, decode_pod, encode, with_status
from replica.api.drafts import Conflict, Draft, to_manifest
from replica.api.kinds import NODE, POD
from replica.api.manifests import parse_manifests
from replica.api.status import unschedulable
from replica.v1.envelope_pb2 import Envelope

AT = "2026-01-31T12:00:00Z"
KEY = "/lockd/pods/default/a"


def pod(**fields):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"containers": [{"name": "c"}]},
        **fields,
    }


def draft(document) -> Draft:
    (found,) = parse_manifests(json.dumps(document).encode(), "test")
    return found


def store(document, revision=1) -> KeyValue:
    return KeyValue(KEY, draft(document).created(uid="u1", at=AT), revision)


scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
texts = st.text(st.characters(codec="utf-8"), max_size=8)
values = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(texts.map(lambda name: f"x{name}"), values, max_size=4), values)
def test_a_manifest_reads_back_as_it_was_applied(extra, inner):
    document = pod(**extra)
    document["metadata"]["managedFields"] = inner
    document["spec"]["containers"][0]["x"] = inner
    document["status"] = {"phase": "Running", "x": inner}
    found = to_manifest(POD, store(document))
    assert found["metadata"].pop("uid") == "u1"
    assert found["metadata"].pop("creationTimestamp") == AT
    assert found["status"].pop("fencingToken") == 0
    assert found == document


def test_a_node_and_a_status_read_back_merged():
    kv = store(pod(status={"conditions": [{"type": "Ready", "status": "True"}]}))
    value = with_status(kv.value, unschedulable("no", at=AT, nominated="n2"), 4)
    found = to_manifest(POD, KeyValue(KEY, value, 2))
    assert [each["type"] for each in found["status"]["conditions"]] == ["Ready", "PodScheduled"]
    assert (found["status"]["nominatedNodeName"], found["status"]["fencingToken"]) == ("n2", 4)
    found = to_manifest(POD, KeyValue(KEY, bound(value, "n1", 5, at=AT), 3))
    assert found["spec"]["nodeName"] == "n1"
    assert found["status"]["conditions"][1]["status"] == "True"
    assert "nominatedNodeName" not in found["status"]


def test_what_was_read_applies_unchanged():
    kv = store(pod(metadata={"name": "a"}, status={}))
    for value in (kv.value, with_status(kv.value, unschedulable("no", at=AT), 4), bound(kv.value, "n1", 5, at=AT)):
        there = KeyValue(KEY, value, 9)
        assert draft(to_manifest(POD, there)).updated(there) is None
        assert draft(pod()).updated(there) is None


def test_a_users_node_goes_to_the_envelope():
    document = pod()
    document["spec"]["nodeName"] = "n1"
    kv = store(document)
    assert Envelope.FromString(kv.value).node_name == "n1"
    assert b"n1" not in Envelope.FromString(kv.value).manifest
    assert decode_pod(kv).node == "n1"
    assert to_manifest(POD, kv)["spec"] == document["spec"]


def test_an_update_keeps_node_status_uid_and_time():
    kv = KeyValue(KEY, bound(store(pod()).value, "n1", 5, at=AT), 9)
    changed = pod()
    changed["metadata"]["labels"] = {"new": "1"}
    changed["metadata"]["creationTimestamp"] = "2027-01-01T00:00:00Z"
    value = draft(changed).updated(kv)
    found = decode_pod(KeyValue(KEY, value, 10))
    assert (found.node, found.uid, found.created, found.token) == ("n1", "u1", AT, 0)
    assert found.labels == {"new": "1"}
    assert Envelope.FromString(value).status == Envelope.FromString(kv.value).status


def test_a_user_binds_by_update():
    document = pod()
    document["spec"]["nodeName"] = "n1"
    value = draft(document).updated(store(pod()))
    assert decode_pod(KeyValue(KEY, value, 2)).node == "n1"


def test_a_bound_pod_does_not_move():
    document = pod()
    document["spec"]["nodeName"] = "n2"
    with pytest.raises(Conflict, match="bound to n1"):
        draft(document).updated(KeyValue(KEY, bound(store(pod()).value, "n1", 5, at=AT), 9))


def test_another_uid_is_another_object():
    document = pod()
    document["metadata"]["uid"] = "u2"
    with pytest.raises(Conflict, match="uid u2"):
        draft(document).updated(store(pod()))
    assert decode_pod(store(document)).uid == "u2"


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [("x", 1, True), ("x", 1, "1"), ("x", 0, None), ("x", {"a": 1}, {"a": 2}), ("status", {"phase": "Running"}, {})],
)
def test_small_changes_are_changes(field, before, after):
    kv = store(pod(**{field: before}))
    assert draft(pod(**{field: after})).updated(kv) is not None
    assert draft(pod(**{field: before})).updated(kv) is None


def test_kinds_without_namespace_get_none():
    found = draft({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"fencingToken": 3}})
    assert (found.kind, found.namespace, "namespace" in found.document["metadata"]) == (NODE, "", False)
    assert "status" not in found.document


@pytest.mark.parametrize("value", [encode(b"x"), encode(b"[]"), b"\xff"])
def test_garbage_in_etcd_is_not_overwritten(value):
    with pytest.raises(Undecodable):
        draft(pod()).updated(KeyValue(KEY, value, 1))
    with pytest.raises(Undecodable):
        to_manifest(POD, KeyValue(KEY, value, 1))
