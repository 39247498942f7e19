"""`lockctl elect`: a command that runs while the lock is held, and what becomes of it."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from component.process import Process
from component.tracing.traceparent import parse
from lockd.ports import Delete, LockName, Txn
from lockd.record import LeaderRecord, parse_history
from tests.harness.electing import LOCKCTL, Elect, wait_for
from tests.harness.proxy import Proxy
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

NAME = "nightly"
FAST = ("--ttl=3s",)
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def elect(etcd, prefix):
    """Start `lockctl elect NAME ... -- WORDS`."""
    started = []

    def elect(*words, options=(), connection=None, name=NAME, **how):
        started.append(
            Elect(name, *words, options=options, connection=connection or etcd.connection, prefix=prefix, **how)
        )
        return started[-1]

    yield elect
    for each in started:
        each.close()


@pytest.fixture
def lock(prefix):
    return LockName(prefix, "kube-system", NAME)


def record(gateway, lock):
    kvs = gateway.range(lock.lease, timeout=5.0).kvs
    return LeaderRecord.parse(kvs[0].value) if kvs else None


def lost(why):
    return f"error: the lock kube-system/{NAME} was lost ({why}): /bin/sh was ended\n"


def shell(text):
    return ("/bin/sh", "-c", text)


def test_it_runs_the_command_by_the_lock_and_gives_that_back(elect, gateway, lock):
    text = "echo $LOCKD_FENCING_TOKEN $LOCKD_CLUSTER_ID $LOCKD_IDENTITY $LOCKD_LEADER $TRACEPARENT $TRACESTATE; exit 7"
    code, told, errors = elect(*shell(text), environment={"TRACEPARENT": PARENT, "TRACESTATE": "v=1"}).end()
    token, cluster, identity, leader, traceparent, state = told.split()
    assert (code, leader, errors) == (7, "1", "")
    assert int(cluster, 16) > 0
    (term,) = parse_history(gateway.range(lock.history, timeout=5.0).kvs[0].value, 0)
    assert (term.identity, term.token, term.reason) == (identity, int(token), "released")
    assert record(gateway, lock).holder_identity == ""
    span, caller = parse(traceparent), parse(PARENT)
    assert span.trace_id == caller.trace_id
    assert span.span_id != caller.span_id
    assert state == "v=1"
    assert gateway.range(lock.candidates, prefix=True, timeout=5.0).kvs == ()


def test_its_record_says_that_etcd_cannot_fence_it(elect, gateway, lock, tmp_path):
    holder = elect(*shell(f"echo $LOCKD_IDENTITY > {tmp_path}/who; exec sleep 60"))
    who = wait_for(tmp_path / "who").strip()
    held = record(gateway, lock)
    assert (held.holder_identity, held.fenced, held.lease_duration) == (who, False, 15.0)
    eventually(lambda: gateway.range(f"{lock.candidates}{who}", timeout=5.0).kvs, within=10.0)
    holder.send(signal.SIGTERM)
    assert holder.end()[0] == 143


def test_its_exit_code_is_the_commands(elect):
    assert elect(*shell("kill -9 $$")).end() == (137, "", "")


def test_what_the_command_leaves_behind_does_not_outlive_the_lock(elect, tmp_path):
    done = elect(*shell(f"setsid sleep 60 > /dev/null 2>&1 & echo $! > {tmp_path}/pid"))
    pid = int(wait_for(tmp_path / "pid"))
    assert done.end()[0] == 0
    assert not Path(f"/proc/{pid}").exists()


def test_each_signal_is_passed_on_once(elect, tmp_path):
    log, names = tmp_path / "log", ("HUP", "INT", "USR1", "TERM")
    traps = "; ".join(f"trap 'echo {name} >> {log}' {name}" for name in names)
    holder = elect(*shell(f"{traps}; trap 'exit 9' USR2; echo ready > {log}; while :; do sleep 0.02; done"))
    wait_for(log)
    for name in names:
        holder.send(signal.Signals[f"SIG{name}"])
        eventually(lambda name=name: name in log.read_text(), within=30.0)
    holder.send(signal.SIGUSR2)
    assert holder.end()[0] == 9
    assert log.read_text().split() == ["ready", *names]


def test_those_who_do_not_hold_the_lock(elect, gateway, lock, tmp_path):
    holder = elect(*shell(f"echo here > {tmp_path}/log; exec sleep 60"), options=FAST)
    wait_for(tmp_path / "log")
    held = f"it is held by {record(gateway, lock).holder_identity}\n"
    waiting = elect("touch", str(tmp_path / "ran"))
    trying, hurried = elect("true", options=("--try",)), elect("true", options=("--timeout=5s",))
    assert trying.end() == (3, "", f"error: the lock kube-system/{NAME} is not free, {held}")
    assert hurried.end() == (3, "", f"error: the lock kube-system/{NAME} was not to be had in time, {held}")
    eventually(lambda: len(gateway.range(lock.candidates, prefix=True, timeout=5.0).kvs) == 2, within=30.0)
    waiting.send(signal.SIGTERM)
    assert waiting.end() == (143, "", "")
    assert not (tmp_path / "ran").exists()
    holder.send(signal.SIGKILL)
    assert elect("true", options=("--try",)).end() == (0, "", ""), "a dead holder is waited for"


def test_a_lock_that_was_taken_away_ends_the_command_at_once(elect, gateway, lock, tmp_path):
    holder = elect(*shell(f"trap '' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 1; done"))
    command = Process.of(int(wait_for(tmp_path / "pid")))
    gateway.txn(Txn((), (Delete(lock.term),)), timeout=5.0)
    assert holder.end() == (1, "", lost("a key of the lock was deleted"))
    assert not command.alive


def test_one_who_is_cut_off_asks_its_command_to_end_and_kills_it_before_others_may_hold_the_lock(etcd, elect, tmp_path):
    with Proxy(etcd.members[0].endpoint) as proxy:
        connection = replace(etcd.connection, endpoints=(proxy.endpoint,))
        text = f"trap 'echo asked >> {tmp_path}/log' TERM; echo $$ > {tmp_path}/log; while :; do sleep 0.02; done"
        holder = elect(*shell(text), connection=connection, options=FAST)
        command = Process.of(int(wait_for(tmp_path / "log")))
        proxy.black_hole()
        code, _, told = holder.end()
        assert (code, told.splitlines(keepends=True)[-1]) == (1, lost("it could not be renewed in time"))
        assert not command.alive
        assert (tmp_path / "log").read_text().split()[1:] == ["asked"]


def test_descriptors_and_standard_streams_are_the_commands(etcd, prefix, tmp_path):
    text = 'exec 5>$1/five; shift; exec "$@"'
    command = (
        *LOCKCTL,
        "elect",
        NAME,
        f"--endpoints={etcd.endpoints[0]}",
        f"--prefix={prefix}",
        "--",
        *shell("cat; echo out; echo err >&2; echo five >&5"),
    )
    done = subprocess.run(
        ["/bin/sh", "-c", text, "sh", str(tmp_path), *command],
        input="in\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "in\nout\n", "err\n")
    assert (tmp_path / "five").read_text() == "five\n"
