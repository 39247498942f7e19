import sys

import pytest

from tools import setup


@pytest.fixture
def venv(tmp_path, monkeypatch):
    """A folder that looks like a .venv whose Python is this one."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.setattr(setup, "VENV", tmp_path)
    monkeypatch.setattr(setup, "PYTHON", tmp_path / "bin" / "python")
    monkeypatch.setattr(setup, "MADE", tmp_path / ".made")
    monkeypatch.setattr(setup, "STAMP", tmp_path / ".set-up")
    return tmp_path


def test_a_venv_whose_making_was_interrupted_is_not_taken(venv):
    assert not setup.same_python()


@pytest.mark.parametrize("mark", [".made", ".set-up"])
def test_a_whole_venv_is_taken(venv, mark):
    (venv / mark).touch()
    assert setup.same_python()


def test_a_venv_without_a_python_is_not_taken(venv):
    (venv / ".made").touch()
    (venv / "bin" / "python").unlink()
    assert not setup.same_python()
