"""The canary: it falls silent when etcd3, protobuf or the descriptors in between move."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version

import pytest
from google.protobuf import descriptor_pool

from lockd.errors import ConfigError
from lockd.etcd import wire


def test_the_distribution_is_the_one_whose_descriptors_are_known():
    assert version("etcd3") == "0.12.0"


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("WatchCreateRequest", {"watch_id": 7, "fragment": 8, "start_revision": 3, "progress_notify": 4}),
        ("WatchRequest", {"create_request": 1, "cancel_request": 2, "progress_request": 3}),
        ("WatchResponse", {"fragment": 7, "compact_revision": 5, "cancel_reason": 6, "events": 11}),
        ("StatusResponse", {"raftAppliedIndex": 7, "errors": 8, "dbSizeInUse": 9, "isLearner": 10, "leader": 4}),
        ("Member", {"isLearner": 5, "ID": 1}),
        ("Compare", {"result": 1, "target": 2, "key": 3, "create_revision": 5, "mod_revision": 6, "value": 7}),
        ("RequestOp", {"request_range": 1, "request_put": 2, "request_delete_range": 3, "request_txn": 4}),
    ],
)
def test_fields_have_etcds_numbers(name, fields):
    described = wire.message(f"etcdserverpb.{name}").DESCRIPTOR.fields_by_name
    assert {field: described[field].number for field in fields} == fields


def test_a_progress_request_is_an_alternative_to_creating_a_watch():
    request = wire.WatchRequest(create_request={"key": b"k"})
    request.progress_request.SetInParent()
    assert request.WhichOneof("request_union") == "progress_request"
    assert request.SerializeToString() == b"\x1a\x00"


def test_newer_fields_survive_the_wire():
    status = wire.StatusResponse(errors=["NOSPACE", "CORRUPT"], dbSizeInUse=2**40, isLearner=True, raftAppliedIndex=7)
    assert wire.StatusResponse.FromString(status.SerializeToString()) == status
    response = wire.WatchResponse(fragment=True, events=[{"type": 1, "kv": {"key": b"k", "mod_revision": 9}}])
    assert wire.WatchResponse.FromString(response.SerializeToString()) == response


def test_nobody_elses_pool_is_touched():
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindFileByName("rpc.proto")


def test_neither_etcd3_nor_grpc_is_imported():
    code = (
        "import json, sys, lockd.etcd.wire\n"
        "print(json.dumps([name for name in ('etcd3', 'grpc', 'asyncio', 'tenacity') if name in sys.modules]))"
    )
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert json.loads(output) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "reinstall"), ("nothing here", "holds no descriptor"), ("  serialized_pb=_b('broken)", "reinstall")],
)
def test_a_broken_distribution_is_one_clear_line(tmp_path, monkeypatch, text, words):
    package = tmp_path / "etcd3"
    (package / "etcdrpc").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('must not be executed')")
    if text is not None:
        (package / "etcdrpc" / "kv_pb2.py").write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "etcd3", raising=False)
    with pytest.raises(ConfigError, match=words) as caught:
        wire._load()
    assert "kv_pb2.py" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_distribution_is_one_clear_line(monkeypatch):
    monkeypatch.setattr(wire, "_DISTRIBUTION", "no_such_distribution")
    with pytest.raises(ConfigError, match=r"'no_such_distribution' is missing: install"):
        wire._load()
