"""The import contracts of pyproject.toml, each seen broken on a planted import."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("component", "lockd", "replica", "chaos")


@pytest.fixture
def tree(tmp_path):
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def broken(tree):
    """The names of the contracts that don't hold, and all that was said."""
    script = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run([script, "--no-logo", "--no-cache"], cwd=tree, capture_output=True, text=True, check=False)
    names = [line.partition(" BROKEN")[0] for line in run.stdout.splitlines() if " BROKEN" in line]
    return names, run.stdout + run.stderr


def test_the_contracts_hold(tree):
    names, said = broken(tree)
    assert names == [], said
    assert "0 broken" in said


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("component/backoff.py", "import lockd.errors", "packages"),
        ("lockd/errors.py", "import replica", "packages"),
        ("lockd/record.py", "import lockd.election", "inside lockd"),
        ("lockd/etcd/model.py", "import lockd.election", "inside lockd"),
        ("lockd/novelty.py", "import json", "inside lockd"),
        ("replica/novelty.py", "import json", "inside replica"),
        ("component/backoff.py", "import component.logs\nfrom component import backoff", "pure"),
        ("component/clock.py", "import component.lifecycle, component.logs, component.exit", "no cycles"),
        ("replica/api/__init__.py", "import grpc", "only lockd.etcd"),
        ("lockd/election.py", "import threading", "pure"),
        ("lockd/record.py", "import component.clock", "pure"),
    ],
)
def test_a_planted_import_breaks_its_contract(tree, file, line, contract):
    with (tree / file).open("a") as planted:
        planted.write(f"\n{line}\n")
    names, said = broken(tree)
    assert any(name.startswith(contract) for name in names), said
