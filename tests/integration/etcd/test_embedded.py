"""An etcd of our own: it starts, it can be hurt, it ends when we do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import pytest

from component.process import Gone, Process
from lockd.errors import ConfigError
from lockd.etcd.embedded import Embedded, EmbeddedError
from lockd.ports import Put, Txn
from tests.harness.etcd import QUICK, heal, opened
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd


def test_a_temporary_one_leaves_nothing():
    with Embedded.start() as own:
        assert own.directory.is_dir()
        process = own.members[0].child.process
    assert not own.directory.exists()
    assert not process.alive


def test_a_kept_one_serves_again_on_the_same_ports(tmp_path):
    with Embedded.start(directory=tmp_path, flags=QUICK) as own, opened(own.connection) as gateway:
        gateway.txn(Txn((), (Put("/k", b"kept"),)), timeout=5.0)
        endpoints = own.endpoints
    with Embedded.start(directory=tmp_path, flags=QUICK) as own, opened(own.connection) as gateway:
        assert own.endpoints == endpoints
        assert gateway.range("/k", timeout=5.0).kvs[0].value == b"kept"


def test_members_are_told_apart_by_pid_and_start(trio):
    members = {(member.pid, member.started) for member in trio.members}
    assert len(members) == 3
    member = trio.members[0]
    before = member.child.process
    member.kill()
    assert not member.alive
    assert member.child.exit_code == -signal.SIGKILL
    with pytest.raises(Gone):
        member.pause()
    trio.restart(member)
    assert member.child.process != before
    assert member.endpoint == trio.endpoints[0]


def test_a_member_is_stopped_and_goes_on(trio):
    member = trio.members[0]
    member.pause()
    assert member.child.process.state == "T"
    member.resume()
    heal(trio)
    assert member.child.process.state in ("S", "R")


def test_compaction_is_left_to_etcd_or_off(tmp_path, etcd):
    def flags(cluster):
        return [part for part in cluster.members[0]._command if "compaction" in part or "quota" in part]

    assert flags(etcd) == [
        "--quota-backend-bytes=8589934592",
        "--auto-compaction-mode=periodic",
        "--auto-compaction-retention=1h",
    ]
    with Embedded.start(auto_compaction=False) as own:
        assert flags(own) == ["--quota-backend-bytes=8589934592"]


def test_etcds_own_variables_do_not_reach_it(monkeypatch):
    monkeypatch.setenv("ETCD_DATA_DIR", "/absent/elsewhere")
    monkeypatch.setenv("ETCD_BOGUS", "1")
    with Embedded.start() as own:
        assert own.members[0].data_dir.is_dir()


def test_one_that_cannot_start_says_why_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(EmbeddedError, match=r"(?s)etcd member etcd-1 ended with code .*its log ends:"):
        Embedded.start(flags=("--no-such-flag",))
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_meanwhile_is_named_in_its_last_words(tmp_path):
    with Embedded.start(directory=tmp_path, flags=QUICK) as own:
        port = int(own.endpoints[0].rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)), pytest.raises(EmbeddedError, match="address already in use"):
        Embedded.start(directory=tmp_path, flags=QUICK)


def test_a_folder_that_cannot_be_used_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="can't hold an etcd's data"):
        Embedded.start(directory=tmp_path / "file" / "below")


def test_it_ends_with_a_parent_that_is_killed(tmp_path):
    code = (
        "import sys, threading\n"
        "from pathlib import Path\n"
        "from lockd.etcd.embedded import Embedded\n"
        "def start():\n"
        "    print(Embedded.start(directory=Path(sys.argv[1])).members[0].pid, flush=True)\n"
        "thread = threading.Thread(target=start)\n"  # whose end must not be taken for the parent's
        "thread.start(); thread.join()\n"
        "sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        process = Process.of(int(parent.stdout.readline()))
        assert process.alive
    finally:
        parent.kill()
        parent.communicate()
    eventually(lambda: not process.alive, within=5.0)
    with pytest.raises(Gone):
        process.send(signal.SIGTERM)


def test_a_process_is_not_taken_for_another_with_its_pid():
    own = Process.of(os.getpid())
    assert own.alive
    other = Process(own.pid, own.started + 1)
    assert not other.alive
    with pytest.raises(Gone):
        other.send(signal.SIGKILL)
