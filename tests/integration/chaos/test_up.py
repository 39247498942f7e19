"""`chaosctl up` and `down` with real processes: what they make, keep running, and leave behind."""

import json
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import pytest

from chaos.cluster import health
from chaos.cluster import state as files
from chaos.cluster.local import LocalCluster
from chaos.cluster.supervisor import MARKER
from chaos.control import Caller, Unheard
from chaos.errors import NotStarted
from chaos.proxy.link import Link
from component.process import Gone, Process
from lockd.etcd.connection import Connection
from tests.harness.etcd import opened
from tests.harness.wait import eventually

SMALL = ("--etcd=1", "--replicas=2", "--fast")
LINKED = ("--lockd=1", "--proxied")


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
    made = chaosctl("up", *SMALL, *LINKED, "--dir", folder, "--detach")
    assert (made.returncode, made.stdout) == (0, f"{folder}\n"), made.stderr
    state = files.read(folder)
    assert state.supervisor.alive
    assert all(Process.of(process.pid) == process for process in state.processes())
    assert [member.name for member in state.etcd] == ["etcd-1"]
    assert [replica.name for replica in state.replicas] == ["replica-1", "replica-2"]
    assert [daemon.name for daemon in state.daemons] == ["lockd-1"]
    assert health.ask(state).healthy

    again = chaosctl("up", *SMALL, "--dir", folder)
    assert again.returncode == 2
    assert again.stderr.startswith(f"error: {folder}: a cluster runs there")

    with opened(Connection(endpoints=state.endpoints)) as gateway:
        (marker,) = gateway.range(f"{state.prefix}/{MARKER}", timeout=5.0).kvs
        assert set(json.loads(marker.value)) == {"by", "since"}
        cluster = LocalCluster(folder, gateway)
        old = eventually(cluster.leader, within=10.0)
        assert cluster.etcd_leader() == cluster.etcd_members()[0]
        assert cluster.endpoints() == (state.etcd[0].endpoint,)
        assert_all_pass_their_links(cluster, old.name)
        cluster.kill(old)
        new = eventually(lambda: find(cluster, old.name, unlike=old.identity), within=20.0)
        assert (new.pid, new.started) != (old.pid, old.started)
        successor = eventually(lambda: (leader := cluster.leader()) and leader.identity != old.identity, within=20.0)
        assert successor
    assert next(replica for replica in files.read(folder).replicas if replica.name == old.name).restarts == 1

    audited = chaosctl("audit", "--endpoints", ",".join(state.endpoints), "--wait", "10s", "-o", "json")
    assert audited.returncode == 0, audited.stdout
    assert json.loads(audited.stdout)["terms"][0]["identity"] == old.identity

    assert_a_member_starts_again_on_its_data(folder)
    state = files.read(folder)
    ended = chaosctl("down", "--dir", folder)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (0, 1)
    assert not any(process.alive for process in (state.supervisor, *state.processes()))
    doors = (link.endpoint for link in state.links.links)
    assert not any(map(listens, (*state.endpoints, *doors, *(replica.http for replica in state.replicas))))
    assert sorted(path.name for path in folder.iterdir()) == ["log", "trace"]

    traced = chaosctl("trace", folder, "-o", "json")
    (handoff, *_) = json.loads(traced.stdout)["handoffs"]
    assert handoff["predecessor"] == old.identity
    assert handoff["phases_ms"]["detection"] > 0


def assert_all_pass_their_links(cluster, leader):
    """etcd is reached, and the leader's presence watched, through links alone."""
    links = cluster.links()
    (member,) = cluster.etcd_members()
    for target in (*cluster.replicas(), *cluster.daemons()):
        eventually(lambda name=target.name: links.counters(Link(name, member.name)).from_passed, within=20.0)
    (standby,) = (target.name for target in cluster.replicas() if target.name != leader)
    watching = Link(standby, leader)
    eventually(lambda: links.counters(watching).open == 1, within=20.0)
    assert links.counters(Link(leader, standby)).open == 0


def assert_a_member_starts_again_on_its_data(folder):
    state = files.read(folder)
    with opened(Connection(endpoints=state.endpoints)) as gateway:
        cluster = LocalCluster(folder, gateway)
        (member,) = cluster.etcd_members()
        cluster.kill(member)
        again = cluster.start(member)
        assert (again.name, again.address) == (member.name, member.address)
        assert (again.pid, again.started) != (member.pid, member.started)
        assert cluster.start(again) == again
        assert gateway.range(f"{state.prefix}/{MARKER}", timeout=20.0).count == 1
        with pytest.raises(NotStarted, match="there is nothing of that name"):
            cluster.start(replace(member, name="etcd-9"))


@pytest.mark.slow
def test_whoever_ended_starts_again_when_somebody_asks_for_it(folder):
    made = chaosctl("up", *SMALL, *LINKED, "--no-restart", "--dir", folder, "--detach")
    assert made.returncode == 0, made.stderr
    with opened(Connection(endpoints=files.read(folder).endpoints)) as gateway:
        cluster = LocalCluster(folder, gateway)
        for each in (cluster.daemons()[0], cluster.replicas()[0]):
            with suppress(Gone):  # a leader that could not renew in time has ended by itself
                cluster.kill(each)
            after = cluster.start(each)
            assert (after.name, after.address) == (each.name, each.address)
            assert after.identity != each.identity
        eventually(cluster.leader, within=20.0)


def find(cluster, name, *, unlike):
    return next((r for r in cluster.replicas() if r.name == name and r.identity != unlike), None)


def heard(name):
    """Is there anybody to speak with?"""
    try:
        Caller(name, timeout=5.0).close()
    except Unheard:
        return False
    return True


def test_whatever_ends_a_supervisor_its_processes_end_too(folder):
    small = ("--etcd=1", "--replicas=1", "--fast", *LINKED)
    assert chaosctl("up", *small, "--dir", folder, "--detach").returncode == 0
    state = files.read(folder)
    state.supervisor.send(signal.SIGKILL)
    eventually(lambda: not any(process.alive for process in state.processes()), within=10.0)
    for name in (state.control, state.links.control):
        eventually(lambda name=name: not heard(name), within=10.0)  # a thread of it may be the last to go

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
