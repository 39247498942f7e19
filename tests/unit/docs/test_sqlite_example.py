"""The recipe for a database column, as docs/examples/sqlite has it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "docs" / "examples" / "sqlite" / "reports.py"


@pytest.fixture(scope="module")
def recipe():
    spec = importlib.util.spec_from_file_location("reports", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def database(recipe, tmp_path):
    opened = recipe.open_database(str(tmp_path / "reports.db"))
    yield opened
    opened.close()


def bodies(database):
    return [body for (body,) in database.execute("SELECT body FROM reports ORDER BY id")]


def test_only_the_newest_holder_writes(recipe, database):
    for token in (7, 7, 9):
        recipe.store(database, f"by {token}", token=token, cluster="c1")
    with pytest.raises(recipe.Refused, match="token 7 of cluster c1 is refused: the newest is 9 of cluster c1"):
        recipe.store(database, "late", token=7, cluster="c1")
    with pytest.raises(recipe.Refused, match="the newest is 9 of cluster c1"):
        recipe.store(database, "elsewhere", token=100, cluster="c2")
    recipe.store(database, "by 9 again", token=9, cluster="c1")
    assert bodies(database) == ["by 7", "by 7", "by 9", "by 9 again"]


def test_a_write_that_fails_moves_no_fence(recipe, database):
    recipe.store(database, "by 7", token=7, cluster="c1")
    with pytest.raises(recipe.sqlite3.IntegrityError):
        recipe.store(database, None, token=9, cluster="c1")
    recipe.store(database, "by 8", token=8, cluster="c1")
    assert bodies(database) == ["by 7", "by 8"]


def run(path, *holder):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LOCKD_")}
    environment = dict(zip(("LOCKD_FENCING_TOKEN", "LOCKD_CLUSTER_ID"), holder, strict=False))
    command = [sys.executable, str(SCRIPT), str(path), "text"]
    return subprocess.run(command, env=kept | environment, capture_output=True, text=True, check=False, timeout=60)


def test_as_a_command(tmp_path):
    path = tmp_path / "reports.db"
    assert run(path, "9", "c1").returncode == 0
    late = run(path, "7", "c1")
    assert (late.returncode, late.stderr) == (
        1,
        "error: token 7 of cluster c1 is refused: the newest is 9 of cluster c1\n",
    )
    bare = run(path)
    assert (bare.returncode, bare.stderr.count("\n")) == (1, 1)
    assert "LOCKD_FENCING_TOKEN is not set: run this by `lockctl elect" in bare.stderr
