"""Bringing a project up by a compose command that is there, too old, or fails."""

import json
import os
import subprocess
import threading

import pytest

from chaos.cluster.plan import Plan
from chaos.compose import bringing, command
from chaos.compose.bringing import FILE, Bringing
from chaos.compose.project import Project
from chaos.errors import Interrupted, NotStarted
from component.clock import SystemClock
from component.process import Gone, Process
from tests.harness.wait import eventually

CLOCK = SystemClock()


@pytest.fixture
def project(tmp_path):
    plan = Plan(folder=tmp_path, members=1, replicas=1)
    return Project(plan=plan, name="p", ports={"etcd-1": 1, "replica-1": 2})


@pytest.fixture
def compose(tmp_path, monkeypatch):
    """A compose that says a version, and does what a line of shell says."""

    def made(version, line="exit 0"):
        program = tmp_path / "bin" / "docker-compose"
        program.parent.mkdir()
        script = f'#!/bin/sh\n[ "$1" = version ] && {{ echo "docker-compose version {version}"; exit 0; }}\n{line}\n'
        program.write_text(script)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", os.pathsep.join((str(program.parent), "/nowhere")))
        monkeypatch.setattr(command.shutil, "which", lambda name: str(program) if name == program.name else None)

    return made


def test_the_file_is_what_the_project_says(project, compose, tmp_path):
    compose("1.29.2")
    made = Bringing(project, clock=CLOCK)
    assert json.loads((tmp_path / FILE).read_text()) == project.document()
    made.up(threading.Event())
    made.down()


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("1.25.0", "docker-compose is 1.25.0, which is too old: install"),
        (None, "there is no docker compose here: install"),
    ],
)
def test_an_old_compose_or_none_is_one_line(project, compose, monkeypatch, version, told):
    compose(version)
    if version is None:
        monkeypatch.setattr(command.shutil, "which", lambda _: None)
    with pytest.raises(NotStarted, match=rf"^{told}[^\n]+$"):
        Bringing(project, clock=CLOCK)


def test_a_compose_that_does_not_answer_is_one_line(project, compose, monkeypatch):
    compose("1.29.2", "")

    def never(words, *, timeout):
        raise subprocess.TimeoutExpired(words, timeout)

    monkeypatch.setattr(command, "run", never)
    with pytest.raises(NotStarted, match=r"^docker-compose does not answer within 60 s: install[^\n]+$"):
        Bringing(project, clock=CLOCK)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Bind for 127.0.0.1:10261 failed: port is already allocated", "port 10261 of this host is taken: "),
        ("pull access denied for lockd, repository does not exist", "there is no image lockd: mend LOCKD_IMAGE"),
    ],
)
def test_what_compose_says_is_explained_in_one_line(project, compose, said, told):
    compose("1.29.2", f"echo '{said}' >&2; exit 1")
    with pytest.raises(NotStarted, match=rf"^{told}[^\n]+$"):
        Bringing(project, clock=CLOCK).up(threading.Event())


def test_a_compose_that_is_stopped_ends_with_all_that_it_started(project, compose, tmp_path):
    """As a plugin of docker it is a process of docker's."""
    pids = tmp_path / "pids"
    compose("1.29.2", f"/bin/sleep 1000 & echo $$ $! > {pids}.new; /bin/mv {pids}.new {pids}; wait")
    stop = threading.Event()
    watcher = threading.Thread(target=lambda: (eventually(pids.exists, within=60.0), stop.set()))
    watcher.start()
    with pytest.raises(Interrupted, match=r"^stopped by a signal before the cluster was up"):
        Bringing(project, clock=CLOCK).up(stop)
    watcher.join()
    for pid in pids.read_text().split():
        eventually(lambda pid=int(pid): ended(pid), within=60.0)


def ended(pid):
    try:
        return not Process.of(pid).alive
    except Gone:
        return True


def test_a_compose_that_takes_too_long_is_one_line(project, compose, monkeypatch):
    compose("1.29.2", "/bin/sleep 1000")
    monkeypatch.setattr(bringing, "PULLING", 0.0)
    with pytest.raises(NotStarted, match=r"^compose up did not end within 0 s$") as raised:
        Bringing(project, clock=CLOCK).up(threading.Event())
    assert raised.value.code == 3
