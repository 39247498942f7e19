"""`chaosctl up` and `down` with real members and replicas: what they make, keep running, and leave behind."""

import json
import signal
import socket
import subprocess
import sys

import pytest

from chaos.cluster import health
from chaos.cluster import state as files
from chaos.cluster.local import LocalCluster
from chaos.cluster.supervisor import MARKER
from component.process import Process
from lockd.etcd.connection import Connection
from tests.harness.etcd import opened
from tests.harness.wait import eventually

SMALL = ("--etcd=1", "--replicas=2", "--fast")


def chaosctl(*words, within=100):
    command = [sys.executable, "-m", "chaos", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=within, check=False)


@pytest.fixture
def folder(tmp_path):
    """Where a cluster may be made. It is down afterwards, whatever the test does."""
    folder = tmp_path / "cluster"
    yield folder
    if (folder / "cluster.json").exists():
        chaosctl("down", "--dir", folder)


def listens(address):
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host.removeprefix("http://"), int(port))) == 0


def test_the_life_of_a_cluster(folder):
    made = chaosctl("up", *SMALL, "--dir", folder, "--detach")
    assert (made.returncode, made.stdout) == (0, f"{folder}\n"), made.stderr
    state = files.read(folder)
    assert state.supervisor.alive
    assert all(Process.of(process.pid) == process for process in state.processes())
    assert [member.name for member in state.etcd] == ["etcd-1"]
    assert [replica.name for replica in state.replicas] == ["replica-1", "replica-2"]
    assert health.ask(state).healthy

    again = chaosctl("up", *SMALL, "--dir", folder)
    assert again.returncode == 2
    assert again.stderr.startswith(f"error: {folder}: a cluster runs there")

    with opened(Connection(endpoints=state.endpoints)) as gateway:
        (marker,) = gateway.range(f"{state.prefix}/{MARKER}", timeout=5.0).kvs
        assert set(json.loads(marker.value)) == {"by", "since"}
        cluster = LocalCluster(folder, gateway)
        old = eventually(cluster.leader, within=10.0)
        cluster.kill(old)
        new = eventually(lambda: find(cluster, old.name, unlike=old.identity), within=20.0)
        assert (new.pid, new.started) != (old.pid, old.started)
        successor = eventually(lambda: (leader := cluster.leader()) and leader.identity != old.identity, within=20.0)
        assert successor
    assert next(replica for replica in files.read(folder).replicas if replica.name == old.name).restarts == 1

    audited = chaosctl("audit", "--endpoints", ",".join(state.endpoints), "--wait", "10s", "-o", "json")
    assert audited.returncode == 0, audited.stdout
    assert json.loads(audited.stdout)["terms"][0]["identity"] == old.identity

    state = files.read(folder)
    ended = chaosctl("down", "--dir", folder)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (0, 1)
    assert not any(process.alive for process in (state.supervisor, *state.processes()))
    assert not any(map(listens, (*state.endpoints, *(replica.http for replica in state.replicas))))
    assert sorted(path.name for path in folder.iterdir()) == ["log", "trace"]

    traced = chaosctl("trace", folder, "-o", "json")
    (handoff, *_) = json.loads(traced.stdout)["handoffs"]
    assert handoff["predecessor"] == old.identity
    assert handoff["phases_ms"]["detection"] > 0


def find(cluster, name, *, unlike):
    return next((r for r in cluster.replicas() if r.name == name and r.identity != unlike), None)


def test_whatever_ends_a_supervisor_its_processes_end_too(folder):
    assert chaosctl("up", "--etcd=1", "--replicas=1", "--fast", "--dir", folder, "--detach").returncode == 0
    state = files.read(folder)
    state.supervisor.send(signal.SIGKILL)
    eventually(lambda: not any(process.alive for process in state.processes()), within=10.0)

    refused = chaosctl("up", *SMALL, "--dir", folder)
    assert refused.returncode == 2
    assert refused.stderr == (
        f"error: {folder}: holds what an earlier cluster left: run `chaosctl down --dir {folder}` first\n"
    )
    ended = chaosctl("down", "--dir", folder)
    assert ended.returncode == 0
    assert f"(supervisor {state.supervisor.pid} is gone)" in ended.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["log", "trace"]
    assert chaosctl("down", "--dir", folder).returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_the_foreground_a_signal_takes_it_down(folder, number):
    command = [sys.executable, "-m", "chaos", "up", "--etcd=1", "--replicas=1", "--fast", f"--dir={folder}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as up:
        eventually((folder / "cluster.json").exists, within=60.0)
        state = files.read(folder)
        up.send_signal(number)
        assert up.wait(60) == 0, up.stderr.read()
    assert not any(process.alive for process in state.processes())
    assert not (folder / "cluster.json").exists()


def test_flags_that_a_replica_refuses_are_said_so(folder):
    result = chaosctl("up", *SMALL, "--dir", folder, "--detach", "--", "--no-such-flag")
    assert result.returncode == 2
    assert "refuses its flags" in result.stderr
    assert "--no-such-flag" in result.stderr
    assert not (folder / "cluster.json").exists()


def test_no_etcd_is_one_line(folder):
    program = """
import sys
from lockd.errors import ConfigError
from lockd.etcd import embedded
def missing():
    raise ConfigError(("no etcd found on PATH: install it",))
embedded.find_etcd = missing
from chaos.ctl import main
main(sys.argv[1:])
"""
    command = [sys.executable, "-c", program, "up", "--dir", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert result.stderr == "error: no etcd found on PATH: install it\n"
    assert not (folder / "etcd").exists()
