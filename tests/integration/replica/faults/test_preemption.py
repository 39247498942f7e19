"""Preemption while leaders are killed: promises hold, victims go when their time is over, and nobody else does."""

from __future__ import annotations

import pytest

from chaos.pods import lives
from replica.api.codec import decode_pod, status_of
from replica.api.keys import object_key
from replica.api.kinds import POD
from tests.harness.crew import pod
from tests.harness.local import nodes
from tests.harness.replicas import FAST
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd


def stored(crew, name):
    found = crew.gateway.range(object_key(crew.prefix, POD, name, "default"), timeout=5.0).kvs
    return found[0] if found else None


def nominated(crew, name):
    found = stored(crew, name)
    return status_of(found.value).nominated_node_name if found is not None else ""


def test_a_nominated_pod_survives_a_kill_of_the_leader(crew):
    leader = crew.start("a")
    crew.until_leads(leader)
    successor = crew.start("b")
    crew.until_ready(successor)
    crew.create(nodes(1, cpu="4"))
    crew.create(pod("low", cpu="3", priority=0, terminationGracePeriodSeconds=8))
    crew.until_bound(1)
    crew.create(pod("high", cpu="3", priority=10))
    eventually(lambda: nominated(crew, "high") == "node-0", within=30.0, what="the node is promised")
    victim = decode_pod(stored(crew, "low"))
    assert victim.ends
    assert stored(crew, "low").mod_revision == stored(crew, "high").mod_revision
    leader.end()
    # It would fit into what the victim leaves, but for the promise.
    crew.create(pod("small", cpu="2", priority=5))
    crew.until_leads(successor, within=3 * FAST.lease)
    eventually(lambda: crew.placement().get("default/high"), within=60.0, what="the promised node is taken")
    assert crew.placement() == {"default/high": "node-0", "default/small": ""}
    crew.until_refused("small")
    ledger = crew.ledger()
    (life,) = (each for each in lives(ledger) if each.key == "pods/default/low")
    author = ledger.terms.by_token[life.deleted_by]
    assert author.identity == successor.identity
    (report, events) = crew.report(), crew.events("Preempted")
    assert report["violations"] == []
    assert (report["pods"]["lost"], report["pods"]["deleted"]) == (0, {"by_user": 0, "by_leader": 1})
    assert events in ([], ["low"])  # events are told of, not promised: the killed leader may have had no time


@pytest.mark.slow
def test_a_victim_without_grace_goes_in_the_transaction_of_the_promise(crew):
    leader = crew.start("a")
    crew.until_leads(leader)
    crew.create(nodes(2, cpu="2"))
    for name in ("one", "two"):
        crew.create(pod(name, cpu="2", priority=1, terminationGracePeriodSeconds=0))
    crew.until_bound(2)
    crew.create(pod("never", cpu="2", priority=5, preemptionPolicy="Never"))
    crew.until_refused("never")
    crew.create(pod("high", cpu="2", priorityClassName="system-cluster-critical"))
    eventually(lambda: crew.placement().get("default/high"), within=30.0, what="room was made")
    left = crew.placement()
    assert (left["default/never"], len(left)) == ("", 3)
    report = crew.report()
    assert report["violations"] == []
    eventually(lambda: len(crew.events("Preempted")) == 1, within=20.0, what="its user is told")
