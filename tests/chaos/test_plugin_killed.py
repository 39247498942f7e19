"""Whoever ends a run of pytest in the middle of a fault leaves no process, and none that stands still."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.harness.wait import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]

TEST = """
import pytest
from pathlib import Path

@pytest.mark.ha_cluster(members=1, replicas=2)
def test_it(hurt, wait_for_leader):
    pause = hurt("pause", "leader")
    Path("paused").write_text(str(pause.target.pid))
    wait_for_leader(other_than=wait_for_leader(other_than=pause.target), within=1000)
"""


def processes_of(folder):
    """Whose command line names the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if os.fsencode(folder) in path.read_bytes():
                found.append(path.parent.name)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_nothing_is_left(tmp_path, number):
    (tmp_path / "test_it.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "chaos.pytest", "-p", "no:cacheprovider", "--ha-dir=out"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    log = tmp_path / "said"
    with log.open("wb") as output:
        run = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=output, stderr=output)

    def paused():
        assert run.poll() is None, log.read_text()
        return (tmp_path / "paused").exists()

    try:
        eventually(paused, within=120.0, what="the leader stands still")
        assert processes_of(tmp_path)
        run.send_signal(number)
        run.wait(120)
    finally:
        run.kill()
        run.wait()
    eventually(lambda: not processes_of(tmp_path), within=120.0, what="nothing of it runs")
    assert run.returncode == (2 if number == signal.SIGINT else -number)
    eventually(lambda: not list((tmp_path / "out").glob("cluster-*/etcd")), within=60.0, what="etcd's data is removed")
