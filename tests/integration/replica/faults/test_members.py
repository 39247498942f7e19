"""Members of etcd go while a leader binds: the leader stays, and binding goes on."""

from __future__ import annotations

import pytest

from tests.harness.local import nodes, pods
from tests.harness.replicas import STEADY

pytestmark = pytest.mark.etcd

BEFORE, AFTER = 40, 200


@pytest.mark.parametrize("which", ["a member that follows", "the member that leads"])
def test_a_member_killed_under_binds_changes_no_leader(trio, crew, which):
    crew.timing = STEADY
    leader = crew.start("a")
    crew.until_leads(leader)
    standby = crew.join("b")
    crew.create(nodes(4))
    crew.create(pods(0, BEFORE))
    crew.until_bound(1)
    first = trio.leader()
    (first if which == "the member that leads" else next(m for m in trio.members if m is not first)).kill()
    crew.create(pods(BEFORE, AFTER))
    crew.until_bound(BEFORE + AFTER, within=STEADY.renew)
    assert leader.leads
    assert crew.holder() == "a"
    report = crew.assert_sound(bound=BEFORE + AFTER)
    assert [term["identity"] for term in report["terms"]] == ["a"]
    assert standby.alive
