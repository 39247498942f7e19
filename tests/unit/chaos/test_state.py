import errno
import json
from dataclasses import replace

import pytest

from chaos.cluster import state as files
from chaos.errors import NoCluster
from component.process import Process
from tests.harness.cluster import STATE


def test_the_file_has_the_agreed_shape(tmp_path):
    files.write(tmp_path, STATE)
    document = json.loads((tmp_path / "cluster.json").read_text())
    assert {name: type(item).__name__ for name, item in document.items()} == {
        "schema": "int",
        "prefix": "str",
        "endpoints": "list",
        "supervisor": "dict",
        "etcd": "list",
        "replicas": "list",
        "daemons": "list",
        "links": "dict",
        "control": "str",
        "ends": "list",
    }
    assert set(document["supervisor"]) == {"pid", "started"}
    assert set(document["etcd"][0]) == {"name", "endpoint", "pid", "started", "data_dir"}
    assert set(document["replicas"][0]) == {
        "name",
        "identity",
        "pid",
        "started",
        "http",
        "log",
        "trace",
        "restarts",
        "presence",
    }
    assert set(document["daemons"][0]) == {"name", "pid", "started", "address", "http", "log", "trace", "restarts"}
    assert set(document["ends"][0]) == {"name", "identity", "pid", "code", "at"}
    assert set(document["links"]) == {"control", "pid", "started", "log", "links"}
    assert set(document["links"]["links"][0]) == {"source", "destination", "endpoint"}


def test_what_was_written_is_read(tmp_path):
    files.write(tmp_path, STATE)
    files.write(tmp_path, replace(STATE, replicas=()))
    assert files.read(tmp_path) == replace(STATE, replicas=())
    files.write(tmp_path, replace(STATE, links=None))
    assert files.read(tmp_path) == replace(STATE, links=None)
    assert [path.name for path in tmp_path.iterdir()] == ["cluster.json"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "no cluster.json here: name the folder"),
        ("{", "not a cluster's description"),
        ("[]", "not a cluster's description"),
        ('{"schema": 1}', "not a cluster's description"),
        ('{"schema": 99}', "schema 99 is not 1"),
    ],
)
def test_anything_else_is_one_line_with_the_remedy(tmp_path, content, problem):
    if content is not None:
        (tmp_path / "cluster.json").write_text(content)
    with pytest.raises(NoCluster, match=problem) as refused:
        files.read(tmp_path)
    assert str(tmp_path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_who_talks_ends_before_whom_it_talks_to():
    assert STATE.processes() == (Process(12, 1002), Process(13, 1003), Process(14, 1004), Process(11, 1001))


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch):
    files.write(tmp_path, STATE)

    def full(path, *_, **__):
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(type(tmp_path), "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        files.write(tmp_path, replace(STATE, replicas=()))
    assert [path.name for path in tmp_path.iterdir()] == ["cluster.json"]
    assert files.read(tmp_path) == STATE
