"""How late after its lease a leader is replaced that stops or is cut off, and how late after its exit; never before.

By the successor's own clock and word: `seconds_since_last_seen` of the acquire that won. LOCKD_TRIALS=n changes the
number of trials.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

import pytest

from lockd.etcd.loopback import free_ports
from tests.bench.test_handoffs import tell
from tests.harness import crew as harness
from tests.harness.proxy import Proxies, Proxy
from tests.harness.replicas import CLOCK, FAST, Timing
from tests.harness.wait import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.slow, pytest.mark.timeout(3600)]

TRIALS = int(os.environ.get("LOCKD_TRIALS", "10"))
LONG = Timing(lease=8.0, renew=2.0, retry=0.5)
"""The exit of a leader that is cut off comes long before the end of its lease."""


@contextmanager
def pair(trio, prefix, folder, timing):
    """A leader behind proxies, a standby that watches over it, and both kinds of proxies."""
    folder.mkdir()
    (port,) = free_ports(1)
    with (
        Proxies(trio) as proxies,
        Proxy(f"127.0.0.1:{port}") as between,
        harness.crew(trio.connection, prefix, folder) as crew,
    ):
        crew.timing = timing
        flags = (f"--presence-bind=127.0.0.1:{port}", f"--presence-advertise={between.endpoint}")
        leader = crew.start("a", *flags, connection=proxies.connection)
        crew.until_leads(leader)
        standby = crew.start("b")
        crew.until_ready(standby)
        eventually(lambda: standby.watches_over == "a", within=60.0, what="b watches over a")
        yield crew, leader, standby, proxies, between


def takeover(crew, standby):
    crew.until_leads(standby, within=120.0)

    def acquired():
        return [span for span in standby.spans("leader_election.acquire") if span.attributes["outcome"] == "acquired"]

    (won,) = eventually(acquired, within=60.0, what="its span is written")
    return won


def told(what, late):
    shown = ", ".join(f"{1000 * each:.0f}" for each in sorted(late))
    tell(f"{what}, {len(late)} trials, load {os.getloadavg()[0]:.1f}: late by {shown} ms (wanted: 0 to 250)")
    assert min(late) >= 0.0, "never before"


@pytest.mark.parametrize("how", ["stopped", "cut off from etcd and its peers"])
def test_at_the_end_of_its_lease(trio, prefix, tmp_path, how):
    late = []
    for number in range(TRIALS):
        with pair(trio, f"{prefix}-{number}", tmp_path / str(number), FAST) as (
            crew,
            leader,
            standby,
            proxies,
            between,
        ):
            if how == "stopped":
                leader.child.pause()
            else:
                for proxy in (*proxies.each, between):
                    proxy.black_hole()
            won = takeover(crew, standby)
            assert won.attributes["takeover"] == "expiry"
            late.append(float(won.attributes["seconds_since_last_seen"]) - FAST.lease)
            leader.child.kill()
    told(f"{how}: after the end of its lease", late)


def test_as_soon_as_it_has_ended(trio, prefix, tmp_path):
    late, gates = [], []
    for number in range(TRIALS):
        with pair(trio, f"{prefix}-{number}", tmp_path / str(number), LONG) as (crew, leader, standby, proxies, _):
            for proxy in proxies.each:
                proxy.black_hole()
            won = takeover(crew, standby)
            eventually(lambda it=leader: it.ended_at, within=30.0)
            assert won.attributes["takeover"] == "evidence"
            ended = leader.ended_at + CLOCK.wall() - CLOCK.now()
            late.append(won.start - ended)
            gates.append(won.start - leader.spans("leader_election.lost")[0].start)
    shown = ", ".join(f"{1000 * each:.0f}" for each in sorted(late))
    tell(f"cut off from etcd alone, {TRIALS} trials, load {os.getloadavg()[0]:.1f}: {shown} ms after its end was noted")
    tell(
        "after its gate: "
        + ", ".join(f"{1000 * each:.0f}" for each in sorted(gates))
        + f" ms (at most {1000 * LONG.exit_bound:.0f})"
    )
    assert min(gates) > 0.0, "never before"
