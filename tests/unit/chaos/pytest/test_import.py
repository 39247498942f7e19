"""What the plugin costs those who have no use for it: it is loaded in each of their runs."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import chaos.pytest

ROOT = Path(__file__).resolve().parents[4]
LOAD = "import sys, pytest; before = set(sys.modules); import chaos.pytest; print(*sorted(set(sys.modules) - before))"


def test_it_loads_nothing_but_its_own_few_modules():
    words = [sys.executable, "-c", LOAD]
    loaded = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert loaded == ["chaos", "chaos.pytest", "chaos.pytest.options", "chaos.pytest.reporting"]


def test_its_entry_point_is_named_as_its_module_so_that_nobody_loads_it_twice():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"chaos.pytest": "chaos.pytest"}


@pytest.mark.parametrize("name", chaos.pytest.__all__)
def test_its_types_are_there_when_somebody_names_them(name):
    assert getattr(chaos.pytest, name).__name__ == name


def test_what_it_has_not_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'chaos\.pytest' has no attribute 'Cluster'"):
        chaos.pytest.Cluster  # noqa: B018 - it is the asking that fails
