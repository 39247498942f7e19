"""A leader cut off from etcd: gone by its gate and the exit bound, while another binds what it left."""

from __future__ import annotations

import pytest

from tests.harness.local import nodes, pods
from tests.harness.proxy import Proxies, Way
from tests.harness.replicas import CLOCK, FAST, STEADY

pytestmark = pytest.mark.etcd

PODS = 120

FAULTS = {
    "nothing passes": lambda proxy: proxy.black_hole(),
    "refused": lambda proxy: proxy.refuse(),
    "requests are lost": lambda proxy: proxy.black_hole(Way.TO_SERVER),
    "replies are lost": lambda proxy: proxy.black_hole(Way.TO_CLIENT),
}


@pytest.mark.parametrize(
    ("timing", "fault"),
    [
        *(pytest.param(FAST, fault, id=name) for name, fault in FAULTS.items()),
        *(
            pytest.param(STEADY, fault, id=f"{name}, defaults", marks=pytest.mark.slow)
            for name, fault in FAULTS.items()
        ),
    ],
)
def test_a_leader_cut_off_is_gone_in_time_and_another_carries_on(trio, crew, timing, fault):
    crew.timing = timing
    with Proxies(trio) as proxies:
        leader = crew.start("a", connection=proxies.connection)
        crew.until_leads(leader)
        standby = crew.join("b")
        crew.until_ready(standby)
        crew.create(nodes(4))
        crew.create(pods(0, PODS))
        crew.until_bound(1)
        for proxy in proxies.each:
            fault(proxy)
        crew.create(pods(PODS, PODS))
        assert leader.wait_for_end(within=2 * timing.lease) == 1
        crew.until_leads(standby, within=2 * timing.lease)
        led = CLOCK.now()
        crew.until_bound(2 * PODS)
        last = crew.last_renewal("a")
        # Nobody could take over before it was gone.
        assert leader.ended_at <= last + timing.end + 0.5 * (timing.lease - timing.end)
        assert leader.ended_at < led
        report = crew.assert_sound(bound=2 * PODS)
        assert [term["identity"] for term in report["terms"]] == ["a", "b"]
        assert set(crew.authors().values()) == {"a", "b"}
