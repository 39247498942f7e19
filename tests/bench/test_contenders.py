"""How hand-offs and etcd's load grow with the contenders of one process: as streams of a lockd, and as electors."""

from __future__ import annotations

import statistics
import sys
import threading

import pytest

from lockd.etcd.embedded import Embedded
from tests.harness.contenders import CLOCK, electors, streams
from tests.harness.etcd_load import calls

pytestmark = [pytest.mark.etcd, pytest.mark.slow, pytest.mark.timeout(900)]

NUMBERS = (25, 50, 100, 200)
HAND_OFFS = 10
IDLE = 6.0
NEVER = threading.Event()


def tell(line):
    sys.stdout.write(f"\n  {line}\n")


@pytest.mark.parametrize("crowd", [streams, electors])
def test_contenders_of_one_lock(crowd):
    with Embedded.start() as etcd:
        for number in NUMBERS:
            with crowd(etcd.connection, f"/bench-{number}", number) as contenders:
                contenders.leader()
                before, begun = calls(etcd), CLOCK.now()
                CLOCK.wait(NEVER, IDLE)
                idle = (calls(etcd) - before) / (CLOCK.now() - begun)
                before = calls(etcd)
                took = [1000 * contenders.hand_off() for _ in range(HAND_OFFS)]
                asked = (calls(etcd) - before) / HAND_OFFS
            middle = statistics.median(took)
            tell(
                f"{crowd.__name__}, {number} contenders: hand-off p50 {middle:.0f} ms, max {max(took):.0f} ms; "
                f"etcd calls: {asked:.1f} a hand-off, {idle:.1f} a second between"
            )
            assert max(took) < 1000
