"""The client in docs/examples does what it says: it holds, goes on elsewhere, gives back."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lockd.ports import LockName
from lockd.record import LeaderRecord
from tests.harness.proxy import Proxy
from tests.harness.serving import NAMESPACE, serving
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "lock_client.py"
NAME = "report"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("lock_client", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record(gateway, prefix):
    kvs = gateway.range(LockName(prefix, NAMESPACE, NAME).lease, timeout=5.0).kvs
    return LeaderRecord.parse(kvs[0].value) if kvs else None


def test_it_goes_on_at_another_lockd_and_gives_back(etcd, prefix, gateway, example):
    with (
        serving(etcd.connection, prefix) as first,
        serving(etcd.connection, prefix) as second,
        Proxy(first.addresses[0]) as proxy,
    ):
        with example.HeldLock([proxy.endpoint, second.addresses[0]], NAME, identity="example") as lock:
            token = lock.token
            assert lock.entitled()
            assert record(gateway, prefix).holder_identity == "example"
            proxy.refuse()
            eventually(lambda: second.admission.open == 1, within=20.0, what="it resumes at the other")
            before = lock._until
            eventually(lambda: lock._until > before, within=20.0, what="it is kept alive there")
            assert (lock.token, lock.entitled()) == (token, True)
        assert not lock.entitled()
        assert record(gateway, prefix).holder_identity == ""


def test_two_take_turns(etcd, prefix, example):
    with serving(etcd.connection, prefix) as daemon:
        first = example.HeldLock(daemon.addresses, NAME, identity="first")
        second = example.HeldLock(daemon.addresses, NAME, identity="second")
        with first:
            second._thread.start()
            eventually(lambda: daemon.admission.open == 2, within=10.0)
            assert (first.entitled(), second.entitled()) == (True, False)
        eventually(second.entitled, within=10.0)
        assert second.token > first.token
        second._release.set()
        second._thread.join(10.0)


def test_as_a_program_it_says_what_it_does(etcd, prefix):
    with serving(etcd.connection, prefix) as daemon:
        command = [sys.executable, "-u", EXAMPLE, NAME, *daemon.addresses]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=EXAMPLE.parents[2]) as process:
            assert process.stdout.readline().startswith(f"holds {NAME} with fencing token ")
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "gives it back\n"
            assert process.wait(20.0) == 0
