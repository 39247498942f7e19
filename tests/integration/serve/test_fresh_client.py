"""A client generated afresh from the .proto, by plain tools, in a folder and a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from grpc_tools import protoc

from tests.harness.proxy import Proxy
from tests.harness.serving import Stream, dialled, enter, serving
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

ROOT = Path(__file__).resolve().parents[3]
NAME = "fresh"


class Client:
    """The process, and the lines that it told."""

    def __init__(self, folder, *targets):
        self.told = []
        command = [sys.executable, "fresh_client.py", *targets, NAME]
        self._process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={}
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self._process.stdout:
            self.told.append(json.loads(line))

    def wait(self, key, within=30.0):
        """The first line with this key, and others after it are left."""
        found = eventually(
            lambda: [line for line in self.told if key in line] or (self._process.poll() is not None and [None]),
            within=within,
            what=f"the client tells {key}; it told {self.told}",
        )
        assert found[0], f"the client ended; it told {self.told}"
        return found[0]

    def silence(self):
        self._process.stdin.write("silent\n")
        self._process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._thread.join(5.0)
        self._process.stdin.close()
        self._process.stdout.close()


@pytest.fixture
def generated(tmp_path):
    includes = (ROOT / "proto" / "lockd" / "v1", Path(protoc.__file__).parent / "_proto")
    flags = [f"-I{folder}" for folder in includes]
    command = [sys.executable, "-m", "grpc_tools.protoc", *flags]
    outputs = [f"--python_out={tmp_path}", f"--grpc_python_out={tmp_path}"]
    subprocess.run([*command, *outputs, "lock.proto"], check=True)
    source = ROOT / "tests" / "launchers" / "fresh_client.py"
    (tmp_path / source.name).write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def test_it_campaigns_observes_is_cut_resumes_on_another_lockd_and_is_fenced(etcd, prefix, generated):
    with (
        serving(etcd.connection, prefix) as first,
        serving(etcd.connection, prefix) as second,
        Proxy(first.addresses[0]) as proxy,
        Client(generated, proxy.endpoint, second.addresses[0]) as client,
    ):
        token = client.wait("leading")["leading"]
        client.wait("kept_alive")
        eventually(lambda: {"observed": "fresh", "token": token} in client.told, within=20.0)
        proxy.refuse()
        assert client.wait("broken")["broken"] == "UNAVAILABLE"
        eventually(lambda: {"leading": token, "on": second.addresses[0]} in client.told, within=20.0)
        with dialled(second) as channel, Stream(channel, enter(NAME, "next")) as successor:
            assert successor.wait("waiting").holder_identity == "fresh"
            client.silence()
            newer = successor.wait("leading", within=30.0).fencing_token
            assert client.wait("ended")["ended"] == "ABORTED"
            assert client.wait("fenced") == {"fenced": token, "by": newer}
            assert newer > token
