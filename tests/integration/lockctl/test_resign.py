"""`lockctl resign` and `observe`: the lock is asked back, and those who look on see it change hands."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest
from click.testing import CliRunner

from lockd.ctl.commands import main
from tests.harness.electing import LOCKCTL, ROOT, Elect, wait_for
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd


@pytest.fixture
def connected(etcd, prefix):
    return (f"--endpoints={','.join(etcd.endpoints)}", f"--prefix={prefix}")


@pytest.fixture
def elect(etcd, prefix, tmp_path):
    """Start `lockctl elect job` around a script that writes its token, and `asked` at SIGTERM."""
    started = []

    def elect(name, *options, deaf=False):
        log = tmp_path / name
        text = f"trap 'echo asked >> {log}{'' if deaf else '; exit 9'}' TERM; echo $LOCKD_FENCING_TOKEN >> {log}"
        words = ("/bin/sh", "-c", f"{text}; while :; do sleep 0.02; done")
        started.append(Elect("job", *words, options=options, connection=etcd.connection, prefix=prefix))
        return started[-1], log

    yield elect
    for each in started:
        each.close()


def run(*words):
    result = CliRunner().invoke(main, words)
    assert not isinstance(result.exception, Exception), result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def observer(connected):
    """What `lockctl observe -w -o json` has told so far."""
    command = (*LOCKCTL, "observe", "job", "-w", "-o", "json", *connected)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.set_blocking(process.stdout.fileno(), False)
        told = bytearray()

        def lines():
            told.extend(process.stdout.read() or b"")
            return [json.loads(line) for line in told.splitlines(keepends=True) if line.endswith(b"\n")]

        yield lines
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert process.stderr.read().strip() == b""


def test_the_lock_is_asked_back_and_changes_hands(elect, observer, connected):
    eventually(observer, within=30.0)
    first, first_log = elect("first")
    old = int(wait_for(first_log))
    second, second_log = elect("second")
    code, told, errors = run("resign", "job", *connected)
    assert (code, errors) == (0, "")
    assert told.startswith(f"kube-system/job: the term {old} of ")
    assert first.end()[0] == 9
    assert first_log.read_text() == f"{old}\nasked\n"
    new = int(wait_for(second_log))
    eventually(lambda: observer()[-1]["fencingToken"] == new, within=30.0)
    seen = [(line["state"], line["fencingToken"]) for line in observer()]
    assert seen in (
        [("free", None), ("held", old), ("free", None), ("held", new)],
        [("free", None), ("held", old), ("held", new)],  # the two of one moment
    )
    assert second.popen.poll() is None, "the wish is for one term alone"
    assert json.loads(run("observe", "job", "-o", "json", *connected)[1])["fencingToken"] == new


@pytest.mark.slow
def test_one_who_does_not_listen_is_killed_when_its_drain_is_over(elect, connected):
    holder, log = elect("deaf", "--drain-timeout=1s", deaf=True)
    wait_for(log)
    assert run("resign", "job", *connected)[0] == 0
    assert holder.end()[0] == 137
    assert "asked" in log.read_text()


def test_a_holder_that_does_not_end_in_time_and_one_that_is_not_there(etcd, gateway, prefix, connected, elect):
    code, told, errors = run("resign", "job", *connected)
    assert (code, told, errors) == (1, "", f"error: nobody holds kube-system/job under {prefix}\n")
    assert gateway.range(f"{prefix}/", prefix=True, timeout=5.0).kvs == ()
    holder, log = elect("stopped")
    token = int(wait_for(log))
    holder.send(signal.SIGSTOP)
    code, told, errors = run("resign", "job", "--timeout=500ms", *connected)
    assert (code, told) == (3, "")
    assert f"still holds kube-system/job after 500ms, by token {token}: it ends when it sees the wish" in errors
