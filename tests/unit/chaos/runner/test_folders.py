"""The folder of a run, and those of earlier ones."""

import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from chaos.cluster.claim import claim
from chaos.runner import folders
from chaos.runner.folders import RUNNING, folder_of, remove_abandoned


@pytest.fixture(autouse=True)
def no_sweeper(monkeypatch):
    """What sweeps up at once is another's test."""

    @contextmanager
    def swept(_, *, lasting):
        assert lasting >= 0
        yield

    monkeypatch.setattr(folders, "swept", swept)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def run(error=None, *names):
    """A run, of which something is left."""
    with folder_of(None, lingers=0.0) as folder:
        for name in names:
            (folder / name).mkdir()
        if error is not None:
            raise error
    return folder


def names(parent):
    return {path.name for path in parent.rglob("*") if path.parent != parent}


def test_of_a_run_that_left_nothing_nothing_is_left(temporary):
    run()
    assert list(temporary.iterdir()) == []


def test_what_a_run_left_on_purpose_stays_beyond_the_next_one(temporary, capsys):
    with pytest.raises(KeyError):
        run(KeyError(), "cluster-1")
    run()
    assert names(temporary) == {"cluster-1"}
    assert capsys.readouterr().err.startswith(f"logs are left in {temporary}/lockd-chaos-")


def killed(parent, *, lives=False):
    """What a run left that was killed, and whose sweeper was; or one that is there still."""
    folder = parent / f"lockd-chaos-{'lives' if lives else 'killed'}"
    (folder / "cluster-1" / "trace").mkdir(parents=True)
    (folder / RUNNING).touch()
    return folder


def test_what_a_killed_run_left_goes_with_the_next_one(temporary):
    left, lives = killed(temporary), killed(temporary, lives=True)
    with claim(lives):
        run()
        assert list(temporary.iterdir()) == [lives]
    run()
    assert list(temporary.iterdir()) == []
    assert not left.exists()


def test_a_run_that_goes_on_is_no_killed_one(temporary):
    with folder_of(None, lingers=0.0) as folder:
        remove_abandoned(temporary)
        assert (folder / RUNNING).exists()


def test_what_is_of_somebody_else_or_only_called_so_is_left_alone(temporary, monkeypatch):
    other = killed(temporary)
    (temporary / "lockd-chaos-file").touch()
    (temporary / "lockd-chaos-link").symlink_to(other)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    remove_abandoned(temporary)
    assert sorted(path.name for path in temporary.iterdir()) == [
        *("lockd-chaos-file", "lockd-chaos-killed", "lockd-chaos-link"),
    ]


@pytest.mark.parametrize("error", [None, KeyError()])
def test_a_folder_that_was_given_is_taken_as_it_is(tmp_path, monkeypatch, capsys, error):
    monkeypatch.chdir(tmp_path)
    try:
        with folder_of(Path("out"), lingers=0.0) as folder:
            assert folder == tmp_path / "out"
            (folder / "cluster-1").mkdir(parents=True)
            if error is not None:
                raise error
    except KeyError:
        pass
    assert capsys.readouterr().err == f"logs are left in {tmp_path}/out: remove them with: rm -r {tmp_path}/out\n"
