"""Real processes: signals that reach only whom they are meant for, and children that end with their parent."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.cluster.process import end_all
from component.clock import SystemClock
from component.process import Child, Gone, Process
from tests.harness.wait import eventually

CLOCK = SystemClock()
SLEEP = ["/bin/sleep", "60"]

THREADS = """
import signal, threading
for _ in range(50):
    threading.Thread(target=signal.pause).start()
signal.pause()
"""

PARENT = """
import os, signal, sys
from pathlib import Path
from component.process import Child
child = Child(["/bin/sleep", "60"], log=Path(sys.argv[1]), environment=dict(os.environ))
print(child.pid, flush=True)
signal.pause()
"""


@pytest.fixture
def start(tmp_path):
    started = []

    def start(*command):
        child = Child(command, log=tmp_path / "log", environment=dict(os.environ))
        started.append(child)
        eventually(lambda: command_of(child.pid)[:1] == [command[0]], within=10.0)
        return child

    yield start
    for child in started:
        child.kill()


def command_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")[:-1]


def test_a_leashed_child_becomes_its_command_and_keeps_pid_and_start(start):
    child = start(*SLEEP)
    assert Process.of(child.pid) == child.process
    assert command_of(child.pid) == SLEEP
    assert os.getsid(child.pid) == child.pid


def test_a_killed_process_is_over_with_the_last_of_its_threads(start):
    child = start(sys.executable, "-c", THREADS)
    assert not child.is_over(10.0)
    child.process.send(signal.SIGKILL)
    eventually(lambda: not child.process.alive, within=10.0)
    assert child.is_over(10.0)
    assert child.exit_code == -signal.SIGKILL


def test_a_child_ends_with_a_parent_that_is_killed(tmp_path):
    words = [sys.executable, "-c", PARENT, str(tmp_path / "log")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
        child = Process.of(int(parent.stdout.readline()))
        eventually(lambda: command_of(child.pid) == SLEEP, within=10.0)
        parent.kill()
        parent.wait()
        eventually(lambda: not child.alive, within=10.0)


def test_a_signal_is_not_sent_to_whoever_has_the_pid_now(start):
    child = start(*SLEEP)
    stranger = Process(child.pid, child.process.started - 1)
    assert not stranger.alive
    with pytest.raises(Gone):
        stranger.send(signal.SIGKILL)
    assert child.process.alive


def test_a_process_that_ended_is_gone_even_before_it_is_reaped(start):
    child = start(*SLEEP)
    child.process.send(signal.SIGKILL)
    eventually(lambda: not child.process.alive, within=10.0)
    with pytest.raises(Gone):
        child.process.send(signal.SIGTERM)
    assert child.exit_code == -signal.SIGKILL
    with pytest.raises(Gone):
        Process.of(child.pid)


def test_a_stopped_process_ends_when_asked(start):
    child = start(*SLEEP)
    child.pause()
    assert child.process.state == "T"
    end_all([child.process], clock=CLOCK, patience=10.0)
    assert child.exit_code == -signal.SIGTERM


def test_who_does_not_listen_is_killed(start, tmp_path):
    child = start("/bin/sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done")
    eventually(lambda: "deaf" in (tmp_path / "log").read_text(), within=10.0)
    end_all([child.process], clock=CLOCK, patience=0.2)
    assert child.exit_code == -signal.SIGKILL
