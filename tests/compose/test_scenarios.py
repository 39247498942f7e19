"""Every shipped scenario that containers allow, once, in containers: `make chaos-compose`."""

from __future__ import annotations

import json
import shutil

import pytest

from chaos.faults.fault import Need
from chaos.scenario import loading
from chaos.scenario.backends import backends
from chaos.scenario.faults import Registered, needs
from tests.harness import engine
from tests.harness.engine import WITHIN, chaosctl
from tools import compose as tool

pytestmark = [pytest.mark.compose, pytest.mark.slow, pytest.mark.timeout(4 * WITHIN)]


def names():
    """Without a C compiler those that shift clocks are left out, as `chaosctl run` says."""
    lacking = set() if shutil.which("cc") else {Need.CLOCKS}
    for name in loading.names():
        scenario = loading.load(name, Registered())
        if "compose" in backends(scenario) and not lacking & needs(scenario):
            yield name


@pytest.fixture(scope="module", autouse=True)
def image():
    """Made from this source tree."""
    engine.needed()
    tool.build()


@pytest.mark.parametrize("name", list(names()))
def test_a_shipped_scenario_holds_in_containers(name, tmp_path):
    said = chaosctl("run", name, "--backend=compose", "--trials=1", "-o", "json", TMPDIR=str(tmp_path))
    assert said.code == 0, f"{said.stdout[-3000:]}\n{said.stderr}"
    summary = json.loads(said.stdout)["summary"]
    print(f"{name}: {json.dumps(summary['failover_ms'])}")
    assert list(tmp_path.iterdir()) == []
