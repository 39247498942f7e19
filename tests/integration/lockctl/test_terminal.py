"""`lockctl elect` on a terminal: an interactive shell runs it, and a person types."""

from __future__ import annotations

import os
import pty
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from component.process import Gone, Process
from tests.harness.electing import LOCKCTL, ROOT
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

CTRL_C, CTRL_D, CTRL_Z = "\x03", "\x04", "\x1a"


class Shell:
    """An interactive bash on a terminal of its own."""

    def __init__(self):
        self.pid, self._terminal = pty.fork()
        if not self.pid:
            environment = os.environ | {"PS1": "$ ", "TERM": "dumb"}
            os.chdir(ROOT)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], environment)  # noqa: S606  # it is the shell
        self.text = ""
        self._seen = 0
        threading.Thread(target=self._read, name="terminal", daemon=True).start()

    def _read(self):
        with suppress(OSError):
            while data := os.read(self._terminal, 4096):
                self.text += data.decode(errors="replace").replace("\r\n", "\n")

    def type(self, keys):
        self._seen = len(self.text)
        os.write(self._terminal, keys.encode())

    def shows(self, words, *, within=60.0):
        """Wait until this has been shown since something was typed last."""
        eventually(lambda: words in self.text[self._seen :], within=within, what=f"{words!r} on the terminal")

    def close(self):
        """Hang up, as a person who closes the window."""
        os.kill(self.pid, signal.SIGHUP)
        os.close(self._terminal)
        os.waitpid(self.pid, 0)


@pytest.fixture
def shell():
    opened = Shell()
    opened.shows("$ ")
    yield opened
    opened.close()


def line(etcd, prefix, words, *options):
    options = (f"--endpoints={','.join(etcd.endpoints)}", f"--prefix={prefix}", *options)
    return " ".join((*LOCKCTL, "elect", "job", *options, "--", words)) + "\n"


COUNT = """
import signal, sys
count = 0
def caught(*_):
    global count
    count += 1
    print("caught", count, flush=True)
signal.signal(signal.SIGINT, caught)
print("ready", flush=True)
for word in sys.stdin:
    print("got", word, end="", flush=True)
sys.exit(5)
"""


def test_the_command_has_the_terminal_and_ctrl_c_reaches_it_once(shell, etcd, prefix, tmp_path):
    (tmp_path / "count.py").write_text(COUNT)
    shell.type(line(etcd, prefix, f"{sys.executable} -I -S {tmp_path}/count.py"))
    shell.shows("\nready\n")
    shell.type("hello\n")
    shell.shows("got hello\n")
    shell.type(CTRL_C)
    shell.shows("caught 1\n")
    shell.type("again\n")
    shell.shows("got again\n")
    shell.type(CTRL_D)
    shell.shows("$ ")
    shell.type("echo code $?\n")
    shell.shows("code 5\n")
    assert "caught 2" not in shell.text


@pytest.mark.slow
def test_ctrl_z_stops_the_job_and_fg_lets_it_go_on(shell, etcd, prefix):
    shell.type(line(etcd, prefix, "cat"))
    eventually(lambda: "cat" in foreground(shell), within=60.0)
    shell.type("one\n")
    shell.shows("one\none\n")
    shell.type(CTRL_Z)
    shell.shows("Stopped")
    shell.type("fg\n")
    eventually(lambda: "cat" in foreground(shell), within=60.0)
    shell.type("two\n")
    shell.shows("two\ntwo\n")
    shell.type(CTRL_D)
    shell.shows("$ ")
    shell.type("echo code $?\n")
    shell.shows("code 0\n")


@pytest.mark.slow
def test_a_job_that_is_stopped_for_too_long_has_lost_its_lock(shell, etcd, prefix):
    shell.type(line(etcd, prefix, "cat", "--ttl=3s"))
    eventually(lambda: "cat" in foreground(shell), within=60.0)
    shell.type(CTRL_Z)
    shell.shows("error: cat was ended: who runs it was stopped for too long")
    shell.type("fg\n")
    shell.shows("$ ")
    shell.type("echo code $?\n")
    shell.shows("code 1\n")


def foreground(shell):
    """The names of the processes in the terminal's foreground."""
    group = os.tcgetpgrp(shell._terminal)
    names = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(Gone, OSError):
            if os.getpgid(int(path.name)) == group and Process.of(int(path.name)).alive:
                names.append((path / "comm").read_text().strip())
    return names
