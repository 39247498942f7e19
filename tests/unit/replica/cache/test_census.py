"""Who stands where, by cohort and topology value, from one snapshot to the next."""

from __future__ import annotations

import gc
from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.cache import census as census_module
from replica.cache.cohort import EVERY, TERMS, in_namespace, owned, with_label
from replica.cache.node_table import NodeTable
from replica.cache.tally import Tallies, Tally
from tests.harness.framework import table_of
from tests.harness.neighbours import DrawnCrowd, affinity, near, neighbour
from tests.harness.objects import node

A = {"app": "a"}


class Plan:
    def __init__(self, scope, counter):
        self.scope, self.counter = scope, counter

    def counters(self):
        return [(self.scope, self.counter)]

    def tallies(self):
        return self.counter.by_key.values() if isinstance(self.counter, Tallies) else [self.counter]


def one(_pod):
    return 1


def tally_of(table, scope=EVERY, *, weigh=one, key="zone", eligible=None, name="plan"):
    """A tally of a table's census, kept up."""
    census = table.snapshot().census
    census.sync()
    plan = census.plan(name, lambda: Plan(scope, Tally(census.domains(key, eligible, eligible), weigh)))
    return plan.counter


def by_value(table, tally):
    """Value -> pods."""
    view = table.snapshot()
    view.census.sync()
    found = {}
    for row in range(view.size):
        number = int(tally.domains.ids[row])
        if number and view.objects[row] is not None:
            found[view.objects[row].labels[tally.domains.key]] = int(tally.counts[number])
    return found


def test_it_is_kept_up_as_pods_and_nodes_come_change_and_go():
    table = table_of([node("n", labels={"zone": "1"}), node("m", labels={"zone": "2"})])
    tally = tally_of(table)
    assert by_value(table, tally) == {"1": 0, "2": 0}
    first, second = neighbour(labels=A), neighbour(labels=A)
    table.add_pod("n", first)
    table.add_pod("n", second)
    assert by_value(table, tally) == {"1": 2, "2": 0}
    table.remove_pod("n", first.uid)
    assert by_value(table, tally) == {"1": 1, "2": 0}
    table.set_node(node("n", labels={"zone": "3"}))
    assert by_value(table, tally) == {"3": 1, "2": 0}
    table.set_node(node("n"))
    assert (by_value(table, tally), tally.total, tally.amounts) == ({"2": 0}, 0, {0: 1})
    table.remove_node("n")
    table.set_node(node("o", labels={"zone": "2"}))
    assert (by_value(table, tally), tally.amounts) == ({"2": 0}, {})
    table.set_node(node("n", labels={"zone": "2"}))
    assert by_value(table, tally) == {"2": 1}


def test_a_pod_that_changes_counts_anew():
    table = table_of([node("n", labels={"zone": "1"})])
    tally = tally_of(table, weigh=lambda pod: int(not pod.deleting) * len(pod.labels))
    each = neighbour(labels={"a": "1", "b": "2"})
    table.add_pod("n", each)
    assert by_value(table, tally) == {"1": 2}
    table.add_pod("n", msgspec.structs.replace(each, deleting=True))
    assert by_value(table, tally) == {"1": 0}


def test_only_eligible_nodes_count_and_only_while_they_are():
    table = table_of([node("n", labels={"zone": "1", "ssd": ""}), node("m", labels={"zone": "1"})])
    tally = tally_of(table, eligible=lambda each: "ssd" in each.labels)
    table.add_pod("n", neighbour())
    table.add_pod("m", neighbour())
    assert by_value(table, tally) == {"1": 1}
    assert (tally.domains.alive, tally.domains.members.tolist()[1]) == (1, 1)
    table.set_node(node("n", labels={"zone": "1"}))
    assert by_value(table, tally) == {"1": 0}
    assert tally.domains.alive == 0


@pytest.mark.parametrize(
    ("scope", "counted"),
    [
        (EVERY, 4),
        (in_namespace("x"), 3),
        (in_namespace("none"), 0),
        (with_label("x", "app", "a"), 2),
        (with_label("y", "app", "a"), 1),
        (owned("x", "ReplicaSet/r/uid-r"), 1),
        (TERMS, 1),
    ],
)
@pytest.mark.parametrize("late", [False, True], ids=["pods first", "plan first"])
def test_a_scope_finds_those_that_are_there_and_those_that_come(scope, counted, late):
    pods = [
        neighbour(labels=A),
        neighbour(labels=A, owner="r"),
        neighbour(labels=A, namespace="y"),
        neighbour(affinity={"podAntiAffinity": affinity(near())}),
    ]
    table = table_of([node("n", labels={"zone": "1"})])
    tally = tally_of(table, scope) if late else None
    for each in pods:
        table.add_pod("n", each)
    tally = tally or tally_of(table, scope)
    assert by_value(table, tally) == {"1": counted}
    for each in pods:
        table.remove_pod("n", each.uid)
    assert by_value(table, tally) == {"1": 0}
    census = table.snapshot().census
    assert (list(census.namespaces()), census.any_terms(), tally.cohorts) == ([], False, set())


def test_one_tally_for_each_key_that_matters():
    table = table_of([node("n", labels={"zone": "1", "rack": "7"})])
    census = table.snapshot().census
    census.sync()
    tallies = Tallies(census.domains, lambda pod: Counter(pod.labels.keys()))
    census.plan("plan", lambda: Plan(EVERY, tallies))
    table.add_pod("n", neighbour(labels={"zone": "", "rack": ""}))
    table.add_pod("n", neighbour(labels={"rack": ""}))
    table.snapshot().census.sync()
    assert {key: tally.total for key, tally in tallies.by_key.items()} == {"zone": 1, "rack": 2}
    assert tallies.anything


def test_what_nobody_asks_for_any_more_is_let_go(monkeypatch):
    monkeypatch.setattr(census_module, "KEPT", 3)
    table = table_of([node("n", labels={"zone": "1"})], [("n", neighbour())])
    first = tally_of(table, name=0)
    for number in range(1, 4):
        tally_of(table, name=number)
    table.add_pod("n", neighbour())
    table.snapshot().census.sync()
    assert first.total == 1, "it was closed"
    assert tally_of(table, name=0) is not first
    assert tally_of(table, name=0).total == 2


def test_domains_that_nobody_counts_by_are_let_go():
    table = table_of([node("n", labels={"zone": "1"})])
    census = table.snapshot().census
    domains = census.domains("zone")
    assert census.domains("zone") is domains
    del domains
    gc.collect()
    assert not len(census._domains)


def test_a_table_that_grows_keeps_its_counts():
    table = NodeTable(capacity=1)
    table.set_node(node("n0", labels={"zone": "0"}))
    tally = tally_of(table)
    for number in range(1, 200):
        table.set_node(node(f"n{number}", labels={"zone": str(number % 150)}, allocatable={f"x.org/{number}": 1}))
        table.add_pod(f"n{number}", neighbour())
        if number % 7 == 0:
            table.snapshot().census.sync()
    found = by_value(table, tally)
    assert sum(found.values()) == 199
    assert found == {str(value): 2 if 0 < value < 50 else 1 for value in range(150)}


@settings(max_examples=60)
@given(st.integers(0, 2**40))
def test_it_agrees_with_a_plain_count(seed):
    crowd = DrawnCrowd(seed)

    def weigh(pod):
        return len(pod.labels) - 3 * pod.deleting

    tally = tally_of(crowd.table, in_namespace("x"), weigh=weigh)
    for _ in range(4):
        want = Counter()
        for name, each in crowd.nodes.items():
            if "zone" in each.labels:
                want[each.labels["zone"]] += sum(weigh(pod) for pod in crowd.on(name) if pod.namespace == "x")
        assert by_value(crowd.table, tally) == dict(want)
        assert tally.total == sum(want.values())
        crowd.change(crowd.draw.randrange(6))
