"""A command under a warden: it ends when its time is over, when told, and with whoever runs it; and all of it does."""

from __future__ import annotations

import errno
import os
import queue
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from component.clock import SystemClock
from component.process import Process
from component.ward import Ended, Gone, NotStarted, Started, Stopped, Ward, Warned
from tests.harness.wait import eventually

CLOCK = SystemClock()
FOREVER = 3600.0

TREE = "setsid sleep 60 & sleep 60 & echo $$ $!; wait"
"""A command with a child in its group and one that left it."""

PARENT = """
import os, queue, sys, threading
from component.clock import SystemClock
from component.ward import Ward
events = queue.SimpleQueue()
now = SystemClock().now()
ward = Ward(["/bin/sh", "-c", sys.argv[1]], events.put, environment=dict(os.environ),
    alone=True, warn_at=now + float(sys.argv[2]), kill_at=now + float(sys.argv[2]) + 0.2)
os.write(1, f"{ward.warden} {events.get()}\\n".encode())  # at once: the command writes to the same pipe
ward.gone.wait()
while not events.empty():
    print(events.get(), flush=True)
"""


class Kept:
    """A ward and what it told."""

    def __init__(self, *command, warn=FOREVER, kill=FOREVER, environment=None):
        self.events = queue.SimpleQueue()
        now = CLOCK.now()
        self.kill_at = now + kill
        self.ward = Ward(
            command,
            self.events.put,
            environment=os.environ if environment is None else environment,
            warn_at=now + warn,
            kill_at=self.kill_at,
        )

    def next(self):
        return self.events.get(timeout=20.0)

    def rest(self):
        """All that comes until nothing is left of it."""
        told = [self.next()]
        while told[-1] != Gone():
            told.append(self.next())
        return told


@pytest.fixture
def keep():
    kept = []

    def keep(*command, **how):
        kept.append(Kept(*command, **how))
        return kept[-1]

    yield keep
    for each in kept:
        each.ward.kill(20.0)
        assert each.ward.gone.wait(20.0)


def shell(text):
    return ("/bin/sh", "-c", text)


@pytest.mark.parametrize(
    ("text", "code"),
    [("exit 7", 7), ("kill -9 $$", 137), ("exit 0", 0), ("exit 200", 200)],
    ids=["7", "kill", "0", "200"],
)
def test_its_exit_code_is_told_as_a_shell_tells_it(keep, text, code):
    kept = keep(*shell(text))
    assert isinstance(kept.next(), Started)
    assert kept.rest() == [Ended(code), Gone()]


@pytest.mark.parametrize(("command", "number"), [("/no/such", errno.ENOENT), ("/etc/passwd", errno.EACCES)])
def test_what_cannot_be_executed(keep, command, number):
    assert keep(command).rest() == [NotStarted(number), Gone()]


def test_its_time_is_over_before_it_begins(keep, tmp_path):
    kept = keep("/bin/touch", str(tmp_path / "ran"), kill=-1.0)
    assert kept.rest() == [Gone()]
    assert not (tmp_path / "ran").exists()


def test_it_is_asked_to_end_and_then_killed_in_time(keep, tmp_path):
    kept = keep(*shell(f"trap 'echo asked >> {tmp_path}/log' TERM; while :; do sleep 0.02; done"), warn=1.0, kill=1.5)
    assert isinstance(kept.next(), Started)
    assert kept.rest() == [Warned(), Ended(137), Gone()]
    assert CLOCK.now() >= kept.kill_at
    assert (tmp_path / "log").read_text() == "asked\n"


def test_more_time_is_given_again_and_again(keep):
    kept = keep(*shell("sleep 60"), warn=1.0, kill=1.5)
    kept.next()
    kept.ward.until(CLOCK.now() + FOREVER, CLOCK.now() + FOREVER)
    eventually(lambda: CLOCK.now() > kept.kill_at + 0.2, within=20.0)
    assert not kept.ward.gone.is_set()
    kept.ward.until(CLOCK.now(), CLOCK.now())
    assert kept.rest()[-2:] == [Ended(137), Gone()]


def test_a_command_that_is_stopped_is_told_of_and_hears_the_request_to_end(keep):
    # Without a child: a shell whose child is stopped between vfork and exec can't stop itself.
    kept = keep("/bin/sleep", "60", warn=1.5)
    started = kept.next()
    kept.ward.signal(signal.SIGTSTP, everybody=True)
    assert kept.next() == Stopped(signal.SIGTSTP)
    assert kept.rest() == [Warned(), Ended(143), Gone()]
    assert started.group > 0


def descendants(pid):
    """The process and all that descend from it."""
    found = [Process.of(pid)]
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += descendants(int(child))
    return found


def whole(group, number):
    """The command's processes, once there are so many."""
    return eventually(lambda: (all_ := descendants(group)) and len(all_) == number and all_, within=20.0)


@pytest.mark.parametrize("how", ["killed", "ended", "warden killed", "warden stopped"])
def test_nothing_of_it_is_left(how):
    """Neither of its group nor of those who left it, by whatever it ends."""
    text = TREE if how != "ended" else "setsid sleep 60 & sleep 60 & read x"
    program = [sys.executable, "-c", PARENT, text, str(FOREVER)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        line = parent.stdout.readline()
        if how == "ended":
            warden, group = int(line.split()[0]), int(line.partition("group=")[2].strip(")\n"))
        else:
            first = [line, parent.stdout.readline()]
            started = next(each for each in first if "group=" in each)
            warden, group = int(started.split()[0]), int(started.partition("group=")[2].strip(")\n"))
        processes = whole(group, 3)
        if how == "killed":
            parent.kill()
        elif how == "ended":
            parent.stdin.write("\n")
            parent.stdin.flush()
        else:
            os.kill(warden, signal.SIGKILL if how == "warden killed" else signal.SIGSTOP)
            if how == "warden stopped":
                parent.kill()
                os.kill(warden, signal.SIGCONT)
        eventually(lambda: not any(process.alive for process in processes), within=20.0)
        parent.wait(timeout=20.0)


def test_a_parent_that_is_stopped_keeps_nothing_alive():
    program = [sys.executable, "-c", PARENT, "trap '' TERM; while :; do sleep 1; done", "5.0"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as parent:
        command = Process.of(int(parent.stdout.readline().partition("group=")[2].strip(")\n")))
        parent.send_signal(signal.SIGSTOP)
        assert command.alive
        eventually(lambda: not command.alive, within=20.0)
        assert Process.of(parent.pid).state == "T"
        parent.send_signal(signal.SIGCONT)
        parent.wait(timeout=20.0)
        assert parent.stderr.read() == "error: /bin/sh was ended: who runs it was stopped for too long\n"


def test_a_signal_reaches_the_command_or_all_of_its_group(keep, tmp_path):
    script = f"trap 'echo child >> {tmp_path}/log' USR1; echo ready >> {tmp_path}/log; while :; do sleep 0.02; done"
    kept = keep(*shell(f"trap 'echo self >> {tmp_path}/log' USR1; ( {script} ) & while :; do sleep 0.02; done"))
    log = tmp_path / "log"
    eventually(lambda: log.exists() and "ready" in log.read_text(), within=20.0)
    kept.ward.signal(signal.SIGUSR1, everybody=False)
    eventually(lambda: "self" in log.read_text(), within=20.0)
    assert "child" not in log.read_text()
    kept.ward.signal(signal.SIGUSR1, everybody=True)
    eventually(lambda: sorted(log.read_text().split()) == ["child", "ready", "self", "self"], within=20.0)


def test_what_python_does_with_signals_is_no_business_of_the_command(keep, tmp_path):
    text = f"grep -E 'Sig(Ign|Blk)' /proc/self/status > {tmp_path}/log"
    assert keep(*shell(text)).rest()[-1] == Gone()
    found = dict(line.split() for line in (tmp_path / "log").read_text().splitlines())
    # glibc keeps 32 and 33 for itself: nobody can set them, so they are as this process was given them.
    kept_by_glibc = 0b11 << 31
    assert {name: int(mask, 16) & ~kept_by_glibc for name, mask in found.items()} == {"SigBlk:": 0, "SigIgn:": 0}
