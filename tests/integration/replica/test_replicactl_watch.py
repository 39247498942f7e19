"""`replicactl get --watch` on a real etcd, over a compaction too."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from lockd.etcd.embedded import Embedded
from lockd.ports import Delete, KeyValue, Put, Txn
from replica.api.kinds import POD
from replica.ctl.following import Known, follow
from replica.ctl.store import ObjectStore
from tests.harness.etcd import opened
from tests.harness.local import CLOCK
from tests.harness.stored import pod_value
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

REPLICACTL = Path(sys.executable).with_name("replicactl")


@pytest.fixture
def put(gateway, prefix):
    def write(name, *, namespace="default", gone=False, **how):
        key = f"{prefix}/pods/{namespace}/{name}"
        gateway.txn(Txn((), (Delete(key) if gone else Put(key, pod_value(name, **how)),)), timeout=5)

    return write


@contextmanager
def watching(etcd, prefix, *words):
    """A watch as a process; its lines so far, and in the end Ctrl-C."""
    command = [REPLICACTL, "get", *words, "--endpoints", ",".join(etcd.connection.endpoints), "--prefix", prefix]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")), daemon=True)
    reader.start()
    try:
        yield process, lines
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(60.0)
        reader.join(60.0)
        with process.stdout, process.stderr:
            assert (code, process.stderr.read().strip()) == (130, "")


def test_a_line_for_each_change(etcd, prefix, put):
    put("a")
    put("elsewhere", namespace="shop")
    with watching(etcd, prefix, "pods", "-w", "-o", "json", "--output-watch-events") as (_, lines):
        eventually(lambda: len(lines) == 1, within=60.0)
        put("a", node="n1")
        put("b")
        put("elsewhere", namespace="shop", node="n1")
        put("a", gone=True)
        eventually(lambda: len(lines) == 4, within=60.0)
    found = [json.loads(line) for line in lines]
    assert [(each["type"], each["object"]["metadata"]["name"]) for each in found] == [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
        ("ADDED", "b"),
        ("DELETED", "a"),
    ]
    assert found[1]["object"]["spec"]["nodeName"] == "n1"


def test_what_is_selected_no_more_is_told_once(etcd, prefix, put):
    put("a")
    with watching(etcd, prefix, "pods", "-w", "--field-selector", "spec.nodeName=", "-o", "name") as (_, lines):
        eventually(lambda: len(lines) == 1, within=60.0)
        put("a", node="n1")
        put("a", node="n1", phase="Running")
        put("b")
        eventually(lambda: lines[-1] == "pod/b\n", within=60.0)
    assert lines == ["pod/a\n", "pod/a\n", "pod/b\n"]


def test_over_a_compaction():
    """What came while nobody watched, and was compacted away, is told from a new list."""
    with Embedded.start() as etcd, opened(etcd.connection) as gateway:
        store = ObjectStore(gateway, prefix="/t", timeout=5.0, clock=CLOCK)
        for name in ("a", "b"):
            gateway.txn(Txn((), (Put(f"/t/pods/default/{name}", pod_value(name)),)), timeout=5)
        before = store.every(POD)
        gateway.txn(Txn((), (Delete("/t/pods/default/a"),)), timeout=5)
        gateway.txn(Txn((), (Put("/t/pods/default/b", pod_value("b", node="n1")),)), timeout=5)
        last = gateway.txn(Txn((), (Put("/t/pods/default/c", pod_value("c")),)), timeout=5).revision
        gateway.compact(last, timeout=5)
        stop, told = threading.Event(), []
        changes = follow(
            gateway,
            store,
            POD,
            "",
            known=Known(before.kvs),
            revision=before.revision,
            stop=stop,
            interrupted=lambda _error: None,
        )
        for change in changes:
            told.append((change.type, change.kv.key.rpartition("/")[2]))
            if len(told) == 3:
                gateway.txn(Txn((), (Put("/t/pods/default/d", pod_value("d")),)), timeout=5)
            if len(told) == 4:
                stop.set()
        assert told == [("DELETED", "a"), ("MODIFIED", "b"), ("ADDED", "c"), ("ADDED", "d")]
        assert isinstance(change.kv, KeyValue)
