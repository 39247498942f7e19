"""Each alert fires when what it is about happens to real replicas, and clears afterwards.

The rules are the shipped ones with their durations multiplied: those that follow from the leases by how much shorter
the leases are here, and those of 5 minutes and more, for which people are told of what is over, by a tenth.
"""

from __future__ import annotations

import json

import pytest

from tests.harness.crew import pod
from tests.harness.extender import ExtenderProcess
from tests.harness.local import NEVER, nodes
from tests.harness.prometheus import prometheus, quickened
from tests.harness.proxy import Proxies
from tests.harness.replicas import CLOCK, HOST, STEADY, Timing
from tests.harness.wait import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.slow, pytest.mark.timeout(600)]

TIMING = Timing(lease=6.0, renew=4.0, retry=1.0)
LEASES = TIMING.lease / STEADY.lease
WITHIN = 150.0
BORNE = 20.0
"""Seconds that a failover may take: a threshold, which is as it is shipped."""


@pytest.fixture
def watching(crew, tmp_path):
    """A Prometheus that scrapes whoever has joined."""
    with prometheus(tmp_path / "prometheus", quickened(LEASES, 0.1)) as running:
        yield running


@pytest.fixture
def join(crew, watching):
    """Starts replicas, scraped from then on."""
    crew.timing = TIMING

    def start(*identities, flags=(), **how):
        started = [crew.start(identity, *flags, **how) for identity in identities]
        watching.scrape({"replica": [f"{HOST}:{each.port}" for each in crew.replicas]})
        return started

    return start


def leader_of(crew):
    return eventually(lambda: next((each for each in crew.replicas if each.alive and each.leads), None), within=WITHIN)


def seen_led(watching):
    leaders = "sum(leader_election_master_status)"
    eventually(lambda: watching.value(leaders) == 1, within=WITHIN, what="one is seen to lead")


def test_no_leader(crew, watching, join):
    a, b = join("a", "b")
    crew.until_ready(a, b, within=WITHIN)
    seen_led(watching)
    watching.until_clear("LockdNoLeader", within=WITHIN)
    for each in (a, b):
        each.child.kill()
    watching.until_firing("LockdNoLeader", within=WITHIN)
    join("c")
    watching.until_clear("LockdNoLeader", within=WITHIN)
    seen_led(watching)


def test_fencing_rejections(crew, watching, join):
    (deposed,) = join("a", launcher="late_write")
    crew.until_leads(deposed, within=WITHIN)
    (standby,) = join("b")
    crew.until_ready(standby, within=WITHIN)
    crew.create(nodes(1))
    told = "lockd_reported_fencing_rejections_total"
    eventually(lambda: watching.value(f'{told}{{instance=~".*:{standby.port}"}}') == 0, within=WITHIN)
    crew.create(pod("late-bind"))
    eventually(lambda: deposed.child.process.state == "T", within=WITHIN, what="it stops itself in front of the write")
    crew.until_leads(standby, within=WITHIN)
    assert "LockdFencingRejections" not in watching.firing(), "nothing was refused yet"
    deposed.child.resume()
    assert deposed.wait_for_end(within=WITHIN) == 1
    watching.until_firing("LockdFencingRejections", within=WITHIN)
    watching.until_clear("LockdFencingRejections", within=WITHIN)
    crew.until_bound(1, within=WITHIN)


def test_flapping(crew, watching, join):
    all_five = join(*"abcde")
    crew.until_ready(*all_five, within=WITHIN)
    for _ in range(4):
        seen_led(watching)
        leader = leader_of(crew)
        leader.terminate()
        leader.wait_for_end(within=WITHIN)
    watching.until_firing("LockdFlapping", within=WITHIN)
    watching.until_clear("LockdFlapping", within=WITHIN)


def test_renewals_slow(crew, watching, join, etcd):
    crew.timing = STEADY  # seconds of the lease that are left are a threshold, which is as it is shipped
    with Proxies(etcd) as proxies:
        (a,) = join("a", connection=proxies.connection)
        crew.until_leads(a, within=WITHIN)
        seen_led(watching)
        for proxy in proxies.each:
            proxy.delay(0.35)  # each way
        watching.until_firing("LockdRenewalsSlow", within=WITHIN)
        proxies.heal()
        watching.until_clear("LockdRenewalsSlow", within=WITHIN)


def test_queue_stuck(crew, watching, join, tmp_path):
    with ExtenderProcess() as extender:
        extender.behave("fails")
        configured = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "podMaxBackoffSeconds": 1,
            "extenders": [{"urlPrefix": extender.url, "filterVerb": "filter"}],
        }
        (tmp_path / "scheduler.yaml").write_text(json.dumps(configured))
        (a,) = join("a", flags=[f"--config={tmp_path / 'scheduler.yaml'}"])
        crew.until_leads(a, within=WITHIN)
        crew.create(nodes(1))
        crew.create(pod("refused"))
        watching.until_firing("LockdQueueStuck", within=WITHIN)
        extender.behave("honest")
        crew.until_bound(1, within=WITHIN)
        watching.until_clear("LockdQueueStuck", within=WITHIN)


@pytest.fixture
def swallowed(crew, join, etcd):
    """A leader, a standby all of whose connections to etcd have become black holes, and what makes them whole again."""
    with Proxies(etcd) as proxies:
        (leader,) = join("a")
        crew.until_leads(leader, within=WITHIN)
        (standby,) = join("b", connection=proxies.connection)
        crew.until_ready(standby, within=WITHIN)
        for proxy in proxies.each:
            proxy.black_hole()
        yield leader, standby, proxies


def test_failover_slow(crew, watching, swallowed):
    a, b, proxies = swallowed
    a.child.kill()
    CLOCK.wait(NEVER, BORNE + 5.0)
    proxies.heal()
    crew.until_leads(b, within=WITHIN)
    watching.until_firing("LockdFailoverSlow", within=WITHIN)
    watching.until_clear("LockdFailoverSlow", within=WITHIN)


def test_watch_lag(crew, watching, join):
    (a,) = join("a")
    crew.until_leads(a, within=WITHIN)
    (b,) = join("b", launcher="slow_listener")
    crew.until_ready(b, within=WITHIN)
    crew.create(nodes(1))
    crew.create(pod("first"))
    watching.until_firing("LockdWatchLag", within=WITHIN)
    a.child.kill()
    watching.until_clear("LockdWatchLag", within=WITHIN)


def test_etcd_degraded(watching, swallowed):
    _, _, proxies = swallowed
    watching.until_firing("LockdEtcdDegraded", within=WITHIN)
    proxies.heal()
    watching.until_clear("LockdEtcdDegraded", within=WITHIN)
