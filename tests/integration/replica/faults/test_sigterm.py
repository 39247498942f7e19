"""A replica that is asked to end: what is in flight is settled, the lease is given back, and nothing is lost."""

from __future__ import annotations

import socket

import pytest

from tests.harness.local import nodes, pods
from tests.harness.proxy import Way
from tests.harness.replicas import CLOCK, STEADY, Running
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

PODS = 600
DRAIN = 1.0

SLACK = 1.5
"""How many times its bound an end may take, as seen from outside on a busy machine."""


def test_during_a_batch_of_binds(proxies, crew):
    crew.timing = STEADY
    leader = crew.start("a", connection=proxies.connection)
    crew.until_leads(leader)
    standby = crew.join("b")
    crew.until_ready(standby)
    crew.create(nodes(8))
    for proxy in proxies.each:
        proxy.delay(0.1)
    crew.create(pods(0, PODS))
    crew.until_bound(1)
    for proxy in proxies.each:
        proxy.black_hole(Way.TO_CLIENT)  # binds are committed, and the leader doesn't know
    leader.terminate()
    eventually(lambda: "stopping" in leader.get("/readyz").body, within=STEADY.exit_bound)
    assert not standby.leads
    proxies.heal()
    assert leader.wait_for_end(within=5.0 + STEADY.exit_bound) == 0
    crew.until_leads(standby, within=STEADY.lease / 2)  # by the release, not by the end of the lease
    assert [line["released"] for line in leader.said("requested to terminate, exiting")] == [True]
    assert {span.attributes["outcome"] for span in leader.spans("scheduler.bind_batch")} == {"applied"}
    crew.until_bound(PODS)
    crew.assert_sound(bound=PODS)
    authors = crew.authors().values()
    assert set(authors) == {"a", "b"}
    told = sum(span.attributes["pods"] for span in leader.spans("scheduler.bind_batch"))
    assert told == list(authors).count("a")


def test_a_standby_writes_nothing_but_its_own_candidate_key(crew):
    crew.timing = STEADY
    leader = crew.join("a")
    crew.until_leads(leader)
    standby = crew.start("b")
    crew.until_ready(standby)
    eventually(lambda: crew.changes(f"{crew.lock.candidates}b"), within=10.0, what="its candidate key is there")
    standby.terminate()
    asked = CLOCK.now()
    assert standby.wait_for_end(within=10.0) == 0
    assert standby.ended_at - asked <= SLACK * STEADY.exit_bound
    assert [change.value is None for change in crew.changes(f"{crew.lock.candidates}b")] == [False, True]
    report = crew.assert_sound(bound=0)
    assert [(term["identity"], term["until_revision"]) for term in report["terms"]] == [("a", None)]
    assert leader.leads


@pytest.mark.parametrize("how", ["killed", "silent"])
def test_with_no_etcd_to_talk_to(trio, crew, how):
    crew.timing = STEADY
    both = [crew.start(name, f"--drain-timeout={DRAIN}s") for name in ("a", "b")]
    crew.until_ready(*both)
    leader, standby = eventually(
        lambda: sorted(both, key=lambda replica: not replica.leads) if crew.holder() else (),
        within=20.0,
        what="one leads",
    )
    crew.create(nodes(8))
    crew.create(pods(0, PODS))
    crew.until_bound(1)
    for member in trio.members:
        member.kill() if how == "killed" else member.pause()
    for replica in both:
        replica.terminate()
    asked = CLOCK.now()
    assert [replica.wait_for_end(within=10.0) for replica in both] == [0, 0]
    assert standby.ended_at - asked <= SLACK * STEADY.exit_bound
    assert leader.ended_at - asked <= DRAIN + SLACK * STEADY.exit_bound
    assert [line["released"] for line in leader.said("requested to terminate, exiting")] == [False]


def test_before_etcd_has_ever_answered(tmp_path):
    """Nobody waits for a call's own timeout."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        words = (f"--endpoints=127.0.0.1:{silent.getsockname()[1]}", "--command-timeout=60s")
        replica = Running("a", tmp_path, words)
        try:
            eventually(lambda: replica.said("http server started"), within=20.0, what="it has started")
            eventually(lambda: replica.get("/readyz").status == 500, within=5.0, what="it isn't ready")
            replica.terminate()
            asked = CLOCK.now()
            assert replica.wait_for_end(within=10.0) == 0
            assert replica.ended_at - asked <= SLACK * STEADY.exit_bound
        finally:
            replica.end()
