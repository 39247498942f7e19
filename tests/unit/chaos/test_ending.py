"""Taking down what a folder holds: never against a living supervisor's claim."""

import fcntl
import os
from contextlib import contextmanager

import pytest

from chaos.cluster import state as files
from chaos.cluster.ending import take_down
from chaos.errors import NoCluster
from tests.harness.clock import ManualClock
from tests.harness.cluster import STATE


@contextmanager
def held(folder):
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(handle)


@pytest.fixture
def left(tmp_path):
    """What a supervisor leaves that was killed early: no cluster.json."""
    (tmp_path / "etcd" / "etcd-1" / "member").mkdir(parents=True)
    (tmp_path / "etcd" / "members.json").write_text("{}")
    return tmp_path


def test_data_without_a_description_is_cleaned_up(left):
    told = take_down(left, clock=ManualClock())
    assert "had ended without being taken down" in told
    assert list(left.iterdir()) == []


def test_a_description_that_cannot_be_read_is_cleaned_up_too(left):
    (left / "cluster.json").write_text("{")
    take_down(left, clock=ManualClock())
    assert list(left.iterdir()) == []


@pytest.mark.parametrize("description", ["none", "another's"])
def test_nothing_is_removed_while_a_supervisor_lives(left, description):
    if description != "none":
        files.write(left, STATE)  # none of its processes exists
    with held(left), pytest.raises(NoCluster, match="a living supervisor holds it"):
        take_down(left, clock=ManualClock())
    assert (left / "etcd" / "etcd-1").exists()
    assert (left / "cluster.json").exists() == (description != "none")


def test_a_folder_etcd_that_is_not_ours_stays(tmp_path):
    (tmp_path / "etcd" / "default.etcd").mkdir(parents=True)
    with pytest.raises(NoCluster, match=r"no cluster\.json here"):
        take_down(tmp_path, clock=ManualClock())
    assert (tmp_path / "etcd" / "default.etcd").exists()


def test_a_dead_supervisors_cluster_is_cleaned_up(left):
    files.write(left, STATE)
    assert "(supervisor 10 is gone)" in take_down(left, clock=ManualClock())
    assert list(left.iterdir()) == []
