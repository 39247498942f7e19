"""What `chaosctl hurt` leaves of a fault in containers when it is ended in the middle of it: nothing."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.harness.engine import ROOT, WITHIN
from tests.harness.wait import eventually

pytestmark = [pytest.mark.compose, pytest.mark.slow, pytest.mark.timeout(2 * WITHIN)]

FAULTS = [
    ("etcd-follower", "--pause"),
    ("standby", "--pause"),
    ("standby", "--isolate"),
    ("etcd-follower", "--isolate"),
]


def left(cluster):
    """Who stands still, has ended, or is in no network."""
    found = []
    for name, each in cluster.containers().items():
        told = cluster.inspect(each)
        if not told["State"]["Running"] or told["State"]["Paused"] or not told["NetworkSettings"]["Networks"]:
            found.append(name)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("words", FAULTS, ids=" ".join)
def test_nothing_is_left(cluster, words, number):
    cluster.whole()
    cluster.run(cluster.containers()["etcd-1"], "etcdctl", "put", "/lockd/chaos-allowed", "yes")
    command = [sys.executable, "-m", "chaos", "hurt", *words, f"--project={cluster.project}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=ROOT) as made:
        next(line for line in made.stderr if line.startswith(f"{words[1][2:]}: "))
        assert left(cluster)
        made.send_signal(number)
        made.stderr.read()
    assert made.returncode == (-signal.SIGKILL if number is signal.SIGKILL else 0)
    eventually(lambda: left(cluster) == [], within=WITHIN, what="all are as before")
