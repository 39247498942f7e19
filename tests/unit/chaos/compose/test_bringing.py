"""Bringing a project up by a compose command that is there, too old, or fails."""

import json
import os
import subprocess

import pytest

from chaos.cluster.plan import Plan
from chaos.compose import command
from chaos.compose.bringing import FILE, Bringing
from chaos.compose.project import Project
from chaos.errors import NotStarted


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
    bringing = Bringing(project)
    assert json.loads((tmp_path / FILE).read_text()) == project.document()
    bringing.up()
    bringing.down()


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
        Bringing(project)


def test_a_compose_that_does_not_answer_is_one_line(project, compose, monkeypatch):
    compose("1.29.2", "")

    def never(words, *, timeout):
        raise subprocess.TimeoutExpired(words, timeout)

    monkeypatch.setattr(command, "run", never)
    with pytest.raises(NotStarted, match=r"^docker-compose does not answer within 60 s: install[^\n]+$"):
        Bringing(project)


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
        Bringing(project).up()
