"""The reply to a committed write is lost on its way: nobody steps down, nothing is written twice."""

from __future__ import annotations

import pytest

from tests.harness.crew import pod
from tests.harness.local import nodes
from tests.harness.replicas import STEADY
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd


@pytest.fixture
def lose(proxies):
    """Lose the reply to the next request that names a pod's key, once, whichever member it goes to."""

    def lose(name):
        armed = {proxy: proxy.swallow(f"/pods/default/{name}".encode()) for proxy in proxies.each}

        def lost():
            """Wait until it has happened; from then on the other members answer."""
            hit = eventually(
                lambda: next((proxy for proxy, swallow in armed.items() if swallow.passed.is_set()), None),
                within=20.0,
                what="a reply is lost",
            )
            for proxy in armed.keys() - {hit}:
                proxy.heal()

        return lost

    return lose


@pytest.fixture
def leader(proxies, crew):
    """A leader that reaches etcd through the proxies, and a standby that would take over."""
    crew.timing = STEADY
    leader = crew.start("a", connection=proxies.connection)
    crew.until_leads(leader)
    crew.until_ready(crew.join("b"))
    return leader


def test_the_reply_to_a_committed_bind_is_lost(crew, leader, lose):
    crew.create(nodes(2, pods="1"))
    lost = lose("first")
    crew.create(pod("first"))
    lost()
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


def test_the_reply_to_a_committed_status_is_lost(crew, leader, lose):
    crew.create(nodes(1))
    lost = lose("large")
    crew.create(pod("large", cpu="64"))
    lost()
    crew.until_refused("large")
    # Its place must not be compared with a revision that its own status is about to change.
    crew.create(nodes(2, cpu="64")[1:])
    crew.until_bound(1, within=STEADY.renew)
    report = crew.assert_sound(bound=1)
    assert [term["identity"] for term in report["terms"]] == ["a"]
    assert leader.leads
    assert leader.said("bind refused") == []
