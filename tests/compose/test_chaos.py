"""Hand-offs in containers, measured: `make chaos-compose`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from tests.harness import engine
from tests.harness.engine import WITHIN, chaosctl
from tests.harness.wait import eventually
from tools import compose as tool
from tools.engine import docker

pytestmark = [pytest.mark.compose, pytest.mark.slow, pytest.mark.timeout(4 * WITHIN)]

LEASE = 3.0
"""Seconds, of `--fast`."""

WITHOUT_PRESENCE = """
title: {title} without presence
description: Without the kernel's word for it, a crash is seen when the lease has run out.
trials: {trials}
configuration:
  flags: [--leader-elect-presence=false]
method:
  - fault: {fault}
    target: leader
    when: bind-in-flight
    {lasts}
expectations:
  leader: changes
  takeover: [expiry]
  failover-at-least: 0.8 lease
"""


@pytest.fixture(scope="module", autouse=True)
def image():
    """Made from this source tree; no other cluster runs beside what is measured."""
    engine.needed()
    tool.build()


def run(*words):
    """A run that must hold; its summary."""
    said = chaosctl("run", *words, "--backend=compose", "-o", "json")
    assert said.code == 0, f"{said.stdout[-3000:]}\n{said.stderr}"
    summary = json.loads(said.stdout)["summary"]
    print(f"{' '.join(words)}: {json.dumps(summary['failover_ms'])}")
    return summary


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_nothing_is_left_of_a_run_that_is_ended(number):
    command = [sys.executable, "-m", "chaos", "run", "pause-leader", "--backend=compose", "--trials=1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=engine.ROOT) as made:
        next(line for line in made.stderr if line.startswith("trial 1: pause leader"))
        made.send_signal(number)
        made.stderr.read()
    assert made.returncode == (-number if number == signal.SIGKILL else 130)

    def left():
        return "".join(
            docker(*words, "--quiet", "--filter", "name=lockd-chaos")
            for words in (("ps", "--all"), ("network", "ls"), ("volume", "ls"))
        )

    eventually(lambda: left() == "", within=WITHIN, what="nothing of it is left")


def test_a_killed_leader_is_followed_at_once(tmp_path):
    run("kill-leader", "--trials=20", "--fail-if=failover_ms.p50>200")


@pytest.mark.parametrize(("fault", "lasts"), [("kill", ""), ("isolate", "lasts: 2 lease")])
def test_without_presence_at_the_end_of_the_lease(tmp_path, fault, lasts):
    file = tmp_path / f"{fault}.yaml"
    file.write_text(WITHOUT_PRESENCE.format(title=fault, trials=20 if fault == "kill" else 5, fault=fault, lasts=lasts))
    found = run(str(file))["failover_ms"]
    assert found["p50"] < 1.5 * LEASE * 1e3  # at its end, and not a poll or another lease later
