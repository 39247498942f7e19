"""How hand-offs and etcd's load grow with the contenders of one process: as streams of a lockd, and as electors."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from lockd.etcd.embedded import Embedded
from tests.harness.contenders import CLOCK, electors, streams
from tests.harness.etcd_load import calls
from tests.harness.serving import listens
from tests.harness.wait import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.slow, pytest.mark.timeout(900)]

NUMBERS = (25, 50, 100, 200)
HAND_OFFS = 10
IDLE = 6.0
NEVER = threading.Event()


def tell(line):
    sys.stdout.write(f"\n  {line}\n")


@contextmanager
def streams_of_a_process(connection, prefix, number, tmp_path):
    """Streams of a `lockd serve` that is a process of its own, as it would be."""
    path = tmp_path / f"{number}.sock"
    command = [sys.executable, "-m", "lockd.daemon", "serve", "--listen", f"unix:{path}", "--prefix", prefix]
    process = subprocess.Popen([*command, "--endpoints", ",".join(connection.endpoints)], stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: listens(path), within=30.0, what="lockd listens")
        with streams(connection, prefix, number, target=f"unix:{path}") as crowd:
            yield crowd
    finally:
        process.terminate()
        process.wait(20.0)


@contextmanager
def electors_of_this_process(connection, prefix, number, _):
    with electors(connection, prefix, number) as crowd:
        yield crowd


@pytest.mark.parametrize("crowd", [streams_of_a_process, electors_of_this_process])
def test_contenders_of_one_lock(crowd, tmp_path):
    slowest = []
    with Embedded.start() as etcd:
        for number in NUMBERS:
            with crowd(etcd.connection, f"/bench-{number}", number, tmp_path) as contenders:
                contenders.leader()
                before, begun = calls(etcd), CLOCK.now()
                CLOCK.wait(NEVER, IDLE)
                idle = (calls(etcd) - before) / (CLOCK.now() - begun)
                before = calls(etcd)
                took = [1000 * contenders.hand_off() for _ in range(HAND_OFFS)]
                asked = (calls(etcd) - before) / HAND_OFFS
            middle = statistics.median(took)
            slowest.append(max(took))
            tell(
                f"{crowd.__name__.replace('_', ' ')}, {number}: hand-off p50 {middle:.0f} ms, max {max(took):.0f} ms; "
                f"etcd calls: {asked:.1f} a hand-off, {idle:.1f} a second between (load {os.getloadavg()[0]:.0f})"
            )
    assert max(slowest) < 1000
