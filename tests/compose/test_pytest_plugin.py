"""The pytest plugin on containers: on a project that is there already, and on one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import engine

pytestmark = [pytest.mark.compose, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]

TEST = """
def test_a_killed_leader_is_replaced(measure_failover, assert_no_stale_writes):
    failover = measure_failover("kill")
    assert failover.old.name != failover.new.name
    assert failover.phases()["elected"] > 0.0
    assert_no_stale_writes()


def test_a_leader_that_stands_still_is_replaced(hurt, wait_for_leader):
    with hurt("pause", "leader") as pause:
        wait_for_leader(other_than=pause.target)
"""


def run(folder, *words):
    """A run of these tests."""
    (folder / "test_it.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "chaos.pytest", "-p", "no:cacheprovider", "--ha-dir=out"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, "--ha-backend=compose", "--ha-missing=fail", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_on_a_project_that_is_there_and_stays(cluster, tmp_path):
    cluster.whole()
    ran = run(tmp_path, f"--ha-project={cluster.project}", "-k", "killed")
    print(ran.stdout[-400:])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    cluster.whole()


@pytest.mark.slow
def test_on_a_project_of_its_own_that_is_gone_in_the_end(tmp_path):
    engine.needed()
    ran = run(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    label = f"label=com.docker.compose.project.working_dir={tmp_path / 'out' / 'cluster-1'}"  # others may run beside
    left = engine.engine.docker("ps", "--all", "--quiet", "--filter", label)
    assert left == ""
