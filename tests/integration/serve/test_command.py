"""The command `lockd serve` as a process: where it listens, how it ends, what it refuses."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import grpc
import pytest

from lockd.v1 import lock_pb2 as pb
from lockd.v1.lock_pb2_grpc import LockServiceStub
from tests.harness.serving import Stream, dialled, enter, listens
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

LOCKD = (sys.executable, "-m", "lockd.daemon")


@contextmanager
def started(etcd, prefix, *flags):
    command = [*LOCKD, "serve", "--endpoints", ",".join(etcd.connection.endpoints), "--prefix", prefix, *flags]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def said(etcd, prefix, *flags):
    """Its exit code and what it said, where it ends by itself."""
    command = [*LOCKD, "serve", "--endpoints", ",".join(etcd.connection.endpoints), "--prefix", prefix, *flags]
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_VERBOSITY"}  # the tests' own
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_it_serves_its_owner_on_a_socket_and_sigterm_ends_it_without_a_release(etcd, prefix, tmp_path):
    path = tmp_path / "lockd.sock"
    with started(etcd, prefix, "--listen", f"unix:{path}") as process:
        eventually(lambda: listens(path), within=30.0, what="it listens")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with dialled(f"unix:{path}") as channel, Stream(channel, enter("job", "a")) as one:
            token = one.wait("leading", within=30.0).fencing_token
            process.send_signal(signal.SIGTERM)
            assert one.end()[0] is grpc.StatusCode.UNAVAILABLE
        assert process.wait(30.0) == 0
        assert not path.exists()
    with started(etcd, prefix, "--listen", f"unix:{path}"):
        eventually(lambda: listens(path), within=30.0, what="it listens")
        with dialled(f"unix:{path}") as channel:
            stub = LockServiceStub(channel)
            request = pb.CheckRequest(lock=pb.Lock(name="job"), fencing_token=token)
            assert stub.Check(request, timeout=20.0, wait_for_ready=True).newest


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def page(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10.0) as answer:
        return answer.status, answer.read().decode()


def test_pages_for_probes_and_metrics(etcd, prefix, tmp_path):
    path, port = tmp_path / "lockd.sock", free_port()
    flags = ("--listen", f"unix:{path}", "--http-listen", f"127.0.0.1:{port}")
    with started(etcd, prefix, *flags) as process:
        eventually(lambda: listens(path), within=30.0, what="it listens")
        with dialled(f"unix:{path}") as channel, Stream(channel, enter("precious")) as one:
            one.wait("leading", within=30.0)
            assert page(port, "/readyz")[0] == page(port, "/livez")[0] == 200
            text = page(port, "/metrics")[1]
            assert "lockd_serve_streams 1" in text
            assert 'lockd_serve_terms_total{takeover="first"} 1' in text
            assert "precious" not in text, "names of locks are the clients' to choose"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30.0) == 0


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--listen", "0.0.0.0:0"), "--insecure-listen"),
        (("--listen", "nonsense", "--max-streams", "0"), "--max-streams must be"),
    ],
    ids=["open", "two problems"],
)
def test_what_cannot_be_served_is_refused_with_code_2(etcd, prefix, flags, words):
    code, text = said(etcd, prefix, *flags)
    assert (code, words in text) == (2, True), text


def test_grpc_s_own_lines_are_not_let_through(etcd, prefix):
    where = ("--listen", f"127.0.0.1:{free_port()}")
    code, text = said(etcd, prefix, *where, *where)
    assert (code, text.count("\n"), text.startswith("error: ")) == (1, 1, True), text


def test_a_port_in_use_is_told_with_code_1(etcd, prefix):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, text = said(etcd, prefix, "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert (code, "in use" in text) == (1, True), text
