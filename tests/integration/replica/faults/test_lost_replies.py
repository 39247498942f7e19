"""The reply to a committed write is lost on its way: nobody steps down, nothing is written twice."""

from __future__ import annotations

import pytest

from tests.harness.crew import pod
from tests.harness.local import nodes
from tests.harness.replicas import CLOCK, STEADY
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

FIRST_BACKOFF = 1.0
"""Seconds after which a pod is tried once more."""


class Loss:
    """Replies to be lost: to one request of each member that names a pod's key."""

    def __init__(self, proxies, name):
        self.armed = {proxy: proxy.swallow(f"/pods/default/{name}".encode()) for proxy in proxies.each}

    def until_lost(self):
        """Wait until one has been lost; the members that lost none."""
        eventually(
            lambda: any(swallow.passed.is_set() for swallow in self.armed.values()), within=20.0, what="a reply is lost"
        )
        return [proxy for proxy, swallow in self.armed.items() if not swallow.passed.is_set()]


@pytest.fixture
def leader(proxies, crew):
    """A leader that reaches etcd through the proxies, and a standby that would take over."""
    crew.timing = STEADY
    leader = crew.start("a", connection=proxies.connection)
    crew.until_leads(leader)
    crew.until_ready(crew.join("b"))
    return leader


def test_the_reply_to_a_committed_bind_is_lost(crew, leader, proxies):
    crew.create(nodes(2, pods="1"))
    loss = Loss(proxies, "first")
    crew.create(pod("first"))
    for proxy in loss.until_lost():
        proxy.heal()  # the reply to the next copy arrives
    crew.until_bound(1)
    place = crew.placement()["default/first"]
    # Nobody knows yet that it is bound: its room must be kept all the same.
    crew.create(pod("second"))
    crew.create(pod("third"))
    crew.until_bound(2)
    eventually(lambda: crew.report()["pods"]["pending"] == 1, within=20.0, what="one pod has no place")
    settled = eventually(
        lambda: [span for span in leader.spans("scheduler.bind_batch") if span.attributes["copies"] > 1],
        within=STEADY.renew,
        what="the bind is settled by another copy",
    )
    assert {span.attributes["outcome"] for span in settled} == {"applied"}
    assert crew.placement()["default/first"] == place
    report = crew.assert_sound(bound=2, pending=1)
    assert [term["identity"] for term in report["terms"]] == ["a"]
    assert leader.leads
    eventually(lambda: len(crew.events("Scheduled")) == 2, within=20.0, what="each bind is told once")


def test_the_reply_to_a_committed_status_is_lost(crew, leader, proxies):
    crew.create(nodes(1))
    loss = Loss(proxies, "large")
    crew.create(pod("large", cpu="64"))
    loss.until_lost()
    # Now it gets a place, before anybody knows that its status was written: the next copies' replies are lost as well.
    crew.create(nodes(2, cpu="64")[1:])
    known = CLOCK.now()
    eventually(lambda: CLOCK.now() > known + 1.5 * FIRST_BACKOFF, within=10.0)
    assert crew.bound() == 0, "a bind would be compared with a revision that the status is about to change"
    proxies.heal()
    crew.until_bound(1, within=STEADY.renew)
    report = crew.assert_sound(bound=1)
    assert [term["identity"] for term in report["terms"]] == ["a"]
    assert leader.leads
    assert leader.said("bind refused") == []
