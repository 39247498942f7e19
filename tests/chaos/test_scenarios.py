"""Every scenario that is shipped, on a real cluster with fast leases: `make chaos`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from chaos.faults.fault import Need
from chaos.scenario import loading
from chaos.scenario.faults import Registered, needs

TRIALS = 2
"""Of each, unless the scenario asks for fewer: what needs many is `chaosctl run NAME --trials N`."""

LACKING = {Need.NETWORKS} if shutil.which("cc") else {Need.NETWORKS, Need.CLOCKS}
NAMES = [name for name in loading.names() if not LACKING & needs(loading.load(name, Registered()))]
"""Without a C compiler those that shift clocks are left out, as `chaosctl run` says; only containers have networks."""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_scenario_holds(name, tmp_path):
    trials = min(TRIALS, loading.load(name, Registered()).trials)
    command = [sys.executable, "-m", "chaos", "run", name, "--fast", f"--trials={trials}"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=580, check=False, env=environment)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    assert list(tmp_path.iterdir()) == []
