"""A replica without an election: it leads at once, its writes are fenced all the same, and the newest one wins."""

from __future__ import annotations

import json

import pytest

from tests.harness.local import nodes, pods
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

ALONE = "--leader-elect=false"


@pytest.fixture
def crew(crew):
    crew.create(nodes(2))
    return crew


def test_it_schedules_under_a_guard_and_gives_its_term_back(crew):
    replica = crew.start("alone", ALONE)
    crew.until_leads(replica)
    crew.create(pods(0, 3))
    crew.until_bound(3)
    assert crew.holder() == "alone"
    assert json.loads(replica.get("/statusz").body)["role"] == "leader"
    assert replica.ready
    assert not replica.stands_by
    replica.terminate()
    assert replica.wait_for_end(20.0) == 0
    assert crew.holder() == ""
    crew.assert_sound(bound=3)


def test_the_newest_takes_over_from_one_that_was_killed_at_once_and_from_one_that_lives(crew):
    killed = crew.start("killed", ALONE)
    crew.until_leads(killed)
    killed.end()
    second = crew.start("second", ALONE)
    crew.until_leads(second)
    crew.create(pods(0, 1))
    crew.until_bound(1)
    newest = crew.start("newest", ALONE)
    crew.until_leads(newest)
    assert second.wait_for_end(20.0) == 1  # it watches the term, and wouldn't have to write to learn of it
    assert [line["reason"] for line in second.said("term without an election ended")] == ["a newer term began"]
    crew.create(pods(1, 1))
    crew.until_bound(2)
    assert set(crew.authors().values()) == {"second", "newest"}
    newest.terminate()
    assert newest.wait_for_end(20.0) == 0
    crew.assert_sound(bound=2)


def test_it_does_not_start_beside_candidates(crew):
    elected = crew.start("elected")
    crew.until_leads(elected)
    alone = crew.start("alone", ALONE)
    assert alone.wait_for_end(30.0) == 1
    eventually(lambda: "has candidates (elected)" in alone.text(), within=5.0, what="it says why")
    assert elected.leads
