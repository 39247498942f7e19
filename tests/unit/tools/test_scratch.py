"""Where the tests put what they throw away."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tools import scratch

ROOMY = f"MemTotal: 99 kB\nMemAvailable:   {scratch.AVAILABLE // 1024} kB\n"


@pytest.fixture
def free(monkeypatch):
    """Bytes that are free in the folder."""
    there = SimpleNamespace(free=scratch.FREE)
    monkeypatch.setattr(scratch.shutil, "disk_usage", lambda _: there)
    return there


def test_it_is_memory_where_there_is_room(tmp_path, free):
    assert scratch.is_roomy(tmp_path, ROOMY)
    free.free -= 1
    assert not scratch.is_roomy(tmp_path, ROOMY)


@pytest.mark.parametrize("meminfo", [f"MemAvailable: {scratch.AVAILABLE // 1024 - 1} kB", "MemFree: 99 kB", ""])
def test_it_is_the_disk_where_memory_is_scarce(tmp_path, free, meminfo):
    assert not scratch.is_roomy(tmp_path, meminfo)


def test_it_is_the_disk_where_there_is_no_such_folder(tmp_path, free):
    assert not scratch.is_roomy(tmp_path / "shm", ROOMY)


def test_what_was_chosen_is_left_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(scratch.tempfile, "tempdir", None)
    scratch.main()
    assert capsys.readouterr().out == f"{tmp_path}\n"
