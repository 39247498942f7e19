"""The check of gangs: red on the smallest history in which one is bound in part, green where it must be."""

from __future__ import annotations

import json

import pytest

from chaos.checks import CHECKS
from chaos.ledger import Ledger
from chaos.record import Record
from replica.api import codec
from tests.harness.history import HistoryMaker
from tests.harness.objects import pod_value

GROUP = "podgroups/default/g"


class Made(HistoryMaker):
    def group(self, least):
        self.commit({GROUP: codec.encode(json.dumps({"spec": {"minMember": least}}).encode())})

    def pods(self, *names, **fields):
        return self.commit({f"pods/default/{name}": pod_value(name, uid=name, group="g", **fields) for name in names})

    def binds(self, *names, token=None):
        values = {}
        for name in names:
            manifest = codec.parse_envelope(name, pod_value(name, uid=name, group="g")).manifest
            made = codec.encode(manifest, node="n", token=self.leader if token is None else token)
            values[f"pods/default/{name}"] = made
        return self.commit(values)

    def found(self):
        record = Record(ledger=Ledger.of(self.history()), settled=False)
        return [(each.revision, each.key, each.message) for each in CHECKS["gangs"](record)]


@pytest.fixture
def made():
    """A group that needs three, four pods of it, and a leader."""
    made = Made()
    made.group(3)
    made.pods("a", "b", "c", "d")
    made.leader = made.acquire("A")
    return made


def test_a_gang_bound_at_once_is_green(made):
    made.binds("a", "b", "c")
    made.binds("d")
    assert made.found() == []


def test_a_gang_bound_in_part_is_red(made):
    revision = made.binds("a", "b")
    assert made.found() == [(revision, GROUP, "2 of the 3 pods that must run are bound")]


def test_a_gang_bound_one_by_one_is_red_until_enough_are(made):
    first, second = made.binds("a"), made.binds("b")
    made.binds("c")
    assert [revision for revision, _, _ in made.found()] == [first, second]


def test_who_was_bound_when_the_leader_looked_counts(made):
    made.binds("a", "b", "c")
    made.pods("e")
    made.commit({"pods/default/a": None, "pods/default/b": None})
    made.binds("e")
    assert made.found() == []


def test_who_left_before_the_newest_came_does_not_count(made):
    made.binds("a", "b", "c")
    made.commit({"pods/default/a": None})
    made.pods("e")
    made.binds("e")
    assert made.found() == []  # b, c and e
    made.commit({"pods/default/b": None, "pods/default/c": None, "pods/default/e": None})
    made.pods("f")
    revision = made.binds("f")
    assert made.found() == [(revision, GROUP, "1 of the 3 pods that must run are bound")]


def test_a_group_that_asked_for_less_meanwhile_is_held_to_that(made):
    made.group(1)
    made.pods("d")
    made.group(3)
    made.binds("d")
    assert made.found() == []


def test_a_gang_that_no_transaction_takes_may_be_bound_in_part(made):
    made.group(121)
    made.pods("a")
    made.binds("a")
    assert made.found() == []


def test_what_a_user_binds_is_the_users_affair(made):
    made.binds("a", token=0)
    assert made.found() == []
