"""A leader that the system stops for longer than its lease: nothing it had on its mind is written any more."""

from __future__ import annotations

import pytest

from tests.harness.crew import pod
from tests.harness.local import nodes, pods
from tests.harness.replicas import FAST
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

PODS = 400


def test_a_leader_stopped_among_its_binds_ends_and_has_written_nothing_late(proxies, crew):
    leader = crew.start("a", connection=proxies.connection)
    crew.until_leads(leader)
    standby = crew.join("b")
    crew.until_ready(standby)
    crew.create(nodes(8))
    for proxy in proxies.each:
        proxy.delay(0.1)  # so that it isn't done with all of them at once
    crew.create(pods(0, PODS))
    crew.until_bound(1)
    leader.child.pause()
    at_the_stop = crew.bound()
    crew.until_leads(standby, within=2 * FAST.lease)
    leader.child.resume()
    # Its watchdog has been due for as long as it slept beyond its gate and exit bound.
    assert leader.wait_for_end(within=FAST.lease) == 1
    crew.until_bound(PODS)
    report = crew.assert_sound(bound=PODS)
    assert [term["identity"] for term in report["terms"]] == ["a", "b"]
    assert at_the_stop < PODS, "nothing was queued or in flight when it stopped"


@pytest.mark.parametrize(
    ("name", "cpu", "told"),
    [
        ("late-bind", "100m", "bind refused: the term is over"),
        ("late-status", "999", "write refused: the term is over"),
    ],
)
def test_a_write_that_goes_out_after_the_term_is_refused_by_etcd(crew, name, cpu, told):
    deposed = crew.start("a", "--v=4", launcher="late_write")
    crew.until_leads(deposed)
    standby = crew.join("b")
    crew.until_ready(standby)
    crew.create(nodes(1))
    crew.create(pod(name, cpu=cpu))
    eventually(lambda: deposed.child.process.state == "T", within=20.0, what="it stops itself in front of the write")
    crew.until_leads(standby, within=2 * FAST.lease)
    deposed.child.resume()
    assert deposed.wait_for_end(within=FAST.lease) == 1
    assert deposed.said(told)
    assert len(deposed.said("leaderelection lost, exiting")) == 1
    if name == "late-bind":
        assert [span.attributes["outcome"] for span in deposed.spans("scheduler.bind_batch")] == ["fenced"]
        crew.until_bound(1)
        crew.assert_sound(bound=1)
        assert crew.authors() == {f"default/{name}": "b"}
    else:
        eventually(lambda: crew.report()["pods"]["pending"] == 1, within=20.0, what="the successor writes the status")
        crew.assert_sound(bound=0, pending=1)
