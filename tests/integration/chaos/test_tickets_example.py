"""docs/examples/tickets, a project as a user would have it: its tests pass, and a bug planted in it turns them red."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.etcd

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "docs" / "examples" / "tickets"


@pytest.fixture
def project(tmp_path):
    """The example, copied, as somebody has it who works on it."""
    return Path(
        shutil.copytree(EXAMPLE, tmp_path / "tickets", ignore=shutil.ignore_patterns("__pycache__", ".pytest*"))
    )


def suite_of(project, *words):
    """Its tests, run as it says itself; the plugin is named, since entry points are those of an installation."""
    path = os.pathsep.join(filter(None, (str(project), str(ROOT), os.environ.get("PYTHONPATH", ""))))
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    command = [sys.executable, "-m", "pytest", "-p", "chaos.pytest", "-p", "no:cacheprovider", "--ha-dir=ha", *words]
    return subprocess.run(
        command, cwd=project, env={**own, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )


def test_its_tests_pass_and_leave_nothing(project):
    ran = suite_of(project, "-m", "not slow")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(
        r"^tests/test_failover.py::\S+: kill of replica-\d, then replica-\d by \w+: .*elected", ran.stdout, re.MULTILINE
    )
    assert list((project / "ha").iterdir()) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_its_slow_tests_pass(project):
    ran = suite_of(project, "-m", "slow")
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_stale_write_planted_in_it_is_found(project):
    """The bug copies the token of the number before, so that what a new leader writes is its predecessor's."""
    counter = project / "tickets" / "counter.py"
    whole = counter.read_text()
    assert whole.count("int(guard.token)") == 1
    counter.write_text(whole.replace("int(guard.token)", "before.token or int(guard.token)"))
    ran = suite_of(project, "-m", "not slow")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert re.search(r"stale writes? took effect", ran.stdout)
    assert re.search(r"revision \d+  last  stale-token: put with token \d+, whose term \(\S+\) ended at", ran.stdout)
    (kept,) = (project / "ha" / "kept").iterdir()
    assert "stale write" in (kept / "evidence.txt").read_text()
