"""A leader whose work goes wrong: it raises, it hangs, or it lets no other thread run. Another one carries on."""

from __future__ import annotations

import pytest

from tests.harness.crew import pod
from tests.harness.local import nodes, pods
from tests.harness.replicas import FAST
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

WORK_TIMEOUT = 1.0


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("raise", "the work raised"),
        ("hang", "the work made no progress"),
        ("hold-the-interpreter", None),
    ],
)
def test_work_that_goes_wrong_costs_one_term(crew, name, told):
    leader = crew.start("a", f"--leader-elect-work-timeout={WORK_TIMEOUT}s", launcher="bad_work")
    crew.until_leads(leader)
    standby = crew.join("b")
    crew.until_ready(standby)
    crew.create(nodes(1))
    crew.create(pods(0, 1))
    crew.until_bound(1)
    crew.create(pod(name))
    assert leader.wait_for_end(within=2 * FAST.lease) == 1
    assert leader.ended_at <= crew.last_renewal("a") + FAST.lease
    if told is None:
        assert leader.said("leaderelection lost, exiting") == [], "it says nothing any more"
    else:
        assert [line["reason"] for line in leader.said("leaderelection lost, exiting")] == [told]
    crew.until_leads(standby, within=2 * FAST.lease)
    crew.until_bound(2)
    crew.assert_sound(bound=2)
    assert crew.authors() == {"default/pod-0": "a", f"default/{name}": "b"}


def test_no_pod_is_placed_before_every_listener_knows_what_the_predecessor_did(crew):
    """A node's last place is taken by a bind that the successor's listener is told of a second late."""
    leader = crew.start("a", "--scheduler-name=other")
    crew.until_leads(leader)
    successor = crew.start("b", launcher="slow_listener")
    crew.until_ready(successor)
    crew.create(nodes(1, pods="1"))
    crew.create(pod("second"))
    eventually(lambda: successor.waiting == 1, within=20.0, what="the second pod waits in the successor's queue")
    crew.create(pod("first", schedulerName="other"))
    crew.until_bound(1)
    leader.terminate()
    assert leader.wait_for_end(within=FAST.lease) == 0
    crew.until_leads(successor)
    crew.until_refused("second")
    events = [line["event"] for line in successor.lines()]
    assert events.count("listener goes on") == 1
    assert events.index("started leading") < events.index("listener goes on") < events.index("caches have caught up")
    crew.assert_sound(bound=1, pending=1)
    crew.create(nodes(2)[1:])
    crew.until_bound(2)
    crew.assert_sound(bound=2)
    assert crew.authors() == {"default/first": "a", "default/second": "b"}
    (barrier,) = successor.spans("scheduler.cache_barrier")
    assert all(span.start >= barrier.end for span in successor.spans("scheduler.bind_batch"))
