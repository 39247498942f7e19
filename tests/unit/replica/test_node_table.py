from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from replica.api.labels import Labels
from replica.cache.changes import REMEMBERED
from replica.cache.node_table import FEW, NodeTable
from replica.cache.nodes import CPU, EPHEMERAL, MEMORY, PODS
from replica.cache.occupancy import DEMAND_LIMIT, LIMIT, demand_of
from tests.harness.objects import node, pod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.cache.nodes import Nodes


def test_a_node_is_a_row_of_its_amounts():
    table = NodeTable()
    row = table.set_node(
        node("a", allocatable={"cpu": "2500m", "memory": "1Gi", "ephemeral-storage": "5Gi", "pods": 8})
    )
    nodes = table.snapshot()
    assert nodes.names[row] == "a"
    assert nodes.count == 1
    assert nodes.valid.tolist() == [True]
    assert nodes.allocatable[:, row].tolist() == [2500, 1 << 30, 5 << 30, 8]
    assert not nodes.requested.any()


def test_a_pod_counts_on_its_node_with_scoring_defaults_apart():
    table = NodeTable()
    row = table.set_node(node("a"))
    assert table.add_pod("a", pod(requests={"memory": "1Gi"}))
    nodes = table.snapshot()
    assert nodes.requested[:, row].tolist() == [0, 1 << 30, 0, 1]
    assert nodes.scoring[:, row].tolist() == [100, 1 << 30]


def test_a_pod_added_twice_counts_once():
    table = NodeTable()
    row = table.set_node(node("a"))
    first = pod(requests={"cpu": 1}, uid="x")
    table.add_pod("a", first)
    table.add_pod("a", pod(requests={"cpu": 2}, uid="x"))
    assert table.snapshot().requested[:, row].tolist() == [2000, 0, 0, 1]


def test_a_pod_that_is_merely_confirmed_changes_no_row_and_readers_get_it_all_the_same():
    table = NodeTable()
    row = table.set_node(node("a"))
    assumed = pod(requests={"cpu": 1}, uid="x")
    table.add_pod("a", assumed)
    serial = table.snapshot().changes.serial
    confirmed = assumed.on("a", mod_revision=9)
    assert table.add_pod("a", confirmed)
    nodes = table.snapshot()
    assert nodes.changes.serial == serial
    assert nodes.pods[row]["x"] is confirmed
    assert nodes.requested[CPU, row] == 1000
    assert table.remove_pod("a", "x")
    assert table.snapshot().requested[CPU, row] == 0


@pytest.mark.parametrize(
    "change", [{"labels": Labels({"app": "b"})}, {"deleting": True}, {"phase": "Running"}, {"started": "later"}]
)
def test_a_pod_that_others_could_mind_changes_its_row(change):
    table = NodeTable()
    row = table.set_node(node("a"))
    first = pod(uid="x")
    table.add_pod("a", first)
    serial = table.snapshot().changes.serial
    table.add_pod("a", replace(first, **change))
    assert table.snapshot().changes.since(serial) == {row}


def test_a_pod_confirmed_on_a_node_that_has_gone_is_there_when_it_comes_back():
    table = NodeTable()
    assumed = pod(requests={"cpu": 1}, uid="x")
    assert not table.add_pod("a", assumed)
    confirmed = assumed.on("a", mod_revision=9)
    assert not table.add_pod("a", confirmed)
    row = table.set_node(node("a"))
    assert table.snapshot().pods[row]["x"] is confirmed


def test_an_extended_resource_becomes_a_lane_and_keeps_what_was_there():
    table = NodeTable()
    a = table.set_node(node("a"))
    table.add_pod("a", pod(requests={"cpu": 1}))
    before = table.snapshot()
    assert "example.com/gpu" not in before.lanes
    b = table.set_node(node("b", allocatable={"cpu": 1, "example.com/gpu": 4}))
    table.add_pod("b", pod(requests={"example.com/gpu": 3}))
    after = table.snapshot()
    gpu = after.lanes["example.com/gpu"]
    assert after.allocatable[gpu].tolist() == [0, 4]
    assert after.requested[gpu].tolist() == [0, 3]
    assert after.requested[CPU].tolist() == [1000, 0]
    assert (a, b) == (0, 1)


def test_a_node_that_stops_offering_a_resource_offers_none_of_it():
    table = NodeTable()
    row = table.set_node(node("a", allocatable={"cpu": 1, "example.com/gpu": 4}))
    table.set_node(node("a", allocatable={"cpu": 1}))
    nodes = table.snapshot()
    assert nodes.allocatable[nodes.lanes["example.com/gpu"], row] == 0


def test_pods_of_an_unknown_node_are_counted_when_it_comes_and_kept_when_it_goes():
    table = NodeTable()
    assert not table.add_pod("a", pod(requests={"cpu": 1}, uid="x"))
    row = table.set_node(node("a"))
    assert table.snapshot().requested[CPU, row] == 1000
    table.remove_node("a")
    assert table.snapshot().count == 0
    row = table.set_node(node("a"))
    nodes = table.snapshot()
    assert nodes.requested[CPU, row] == 1000
    assert list(nodes.pods[row]) == ["x"]
    assert table.remove_pod("a", "x")
    assert not table.snapshot().requested.any()


def test_a_row_is_used_again_and_its_leftovers_are_not():
    table = NodeTable()
    row = table.set_node(node("a", unschedulable=True))
    table.add_pod("a", pod(requests={"cpu": 3, "example.com/gpu": 1}))
    table.snapshot()
    table.remove_node("a")
    assert table.set_node(node("b")) == row
    nodes = table.snapshot()
    assert nodes.names == ["b"]
    assert nodes.index == {"b": row}
    assert not nodes.requested.any()
    assert not nodes.unschedulable.any()
    assert nodes.pods[row] == {}


def test_a_name_that_moves_to_another_row_between_two_snapshots_is_found():
    table = NodeTable()
    table.set_node(node("a"))
    table.set_node(node("b"))
    table.snapshot()
    table.remove_node("a")
    table.remove_node("b")
    table.set_node(node("a"))
    nodes = table.snapshot()
    assert nodes.names[nodes.index["a"]] == "a"
    assert nodes.named(["a", "b", "c"]).tolist() == [name == "a" for name in nodes.names]


def test_unknown_names_are_no_error():
    table = NodeTable()
    table.remove_node("a")
    assert not table.remove_pod("a", "x")
    assert table.row("a") is None
    assert table.sizes() == (0, 0)


def test_only_what_changed_gets_a_new_generation():
    table = NodeTable()
    a, b = table.set_node(node("a")), table.set_node(node("b"))
    nodes = table.snapshot()
    before, node_before = nodes.generation.copy(), nodes.node_generation.copy()
    table.add_pod("b", pod())
    nodes = table.snapshot()
    assert nodes.generation[a] == before[a]
    assert nodes.generation[b] > before[b]
    assert np.array_equal(nodes.node_generation, node_before)
    table.set_node(node("b", labels={"x": "y"}))
    assert table.snapshot().node_generation[b] > node_before[b]


def test_a_snapshot_does_not_change_until_the_next():
    table = NodeTable()
    row = table.set_node(node("a"))
    nodes = table.snapshot()
    table.add_pod("a", pod(requests={"cpu": 1}))
    table.set_node(node("b"))
    assert nodes.requested[CPU, row] == 0
    assert nodes.pods[row] == {}
    assert nodes.size == nodes.count == 1


def test_amounts_beyond_the_limit_saturate_and_come_back_exactly():
    table = NodeTable()
    row = table.set_node(node("a", allocatable={"memory": "8Ei", "pods": 1000}))
    huge = [pod(requests={"memory": "4Ei"}, uid=f"u{number}") for number in range(8)]
    for each in huge:
        table.add_pod("a", each)
    small = pod(requests={"memory": "1Mi"}, uid="small")
    table.add_pod("a", small)
    nodes = table.snapshot()
    assert nodes.allocatable[MEMORY, row] == LIMIT
    assert nodes.requested[MEMORY, row] == DEMAND_LIMIT
    for each in huge:
        table.remove_pod("a", each.uid)
    assert table.snapshot().requested[MEMORY, row] == 1 << 20


@pytest.mark.parametrize("nodes", [1, FEW, FEW + 1, 5 * FEW])
def test_rows_that_were_not_looked_at_are_written_at_once_as_one_by_one(nodes):
    """A standby takes its first snapshot when it comes to lead."""
    looked_at, standby = NodeTable(), NodeTable()
    demands = ({"cpu": "250m"}, {"memory": "7Ei"}, {"example.com/gpu": 2, "ephemeral-storage": "1Gi"}, {})
    looked_at.snapshot()
    for number in range(nodes):
        one = node(f"n{number}", allocatable={"cpu": 8, "pods": 110})
        pods = [pod(requests=demands[(number + each) % 4], uid=f"{number}-{each}") for each in range(number % 20)]
        # More than int64 holds, if each counts as DEMAND_LIMIT.
        pods += [pod(requests={"memory": "7Ei"}, uid=f"{number}+{each}") for each in range(70 if number == 7 else 0)]
        for table in (looked_at, standby):
            table.set_node(one)
            for each in pods:
                table.add_pod(one.name, each)
                if table is looked_at:
                    table.snapshot()
            if number % 3 == 1:
                table.remove_pod(one.name, f"{number}-0")
    one, other = looked_at.snapshot(), standby.snapshot()
    for name in ("requested", "scoring", "allocatable", "valid", "unschedulable"):
        assert (getattr(one, name) == getattr(other, name)).all(), name
    assert one.pods == other.pods
    assert one.requested.max() <= DEMAND_LIMIT
    assert len(set(other.generation.tolist())) == nodes


@pytest.mark.parametrize("nodes", [2, FEW, FEW + 2])
def test_of_nodes_that_change_together_each_is_seen_and_the_rest_stay(nodes):
    table = NodeTable()
    for number in range(nodes):
        table.set_node(node(f"n{number}"))
    before = table.snapshot().node_generation.copy()
    for number in range(nodes):
        if number % 2:
            table.set_node(node(f"n{number}", unschedulable=True))
        table.add_pod(f"n{number}", pod())
    view = table.snapshot()
    odd = np.arange(nodes) % 2 == 1
    assert (view.unschedulable == odd).all()
    assert (view.node_generation[odd] > before.max()).all()
    assert (view.node_generation[~odd] == before[~odd]).all()
    assert view.requested[PODS].tolist() == [1] * nodes


def test_a_row_that_has_gone_before_anybody_looked_holds_nothing():
    table = NodeTable()
    for name in "ab":
        table.set_node(node(name))
    table.snapshot()
    table.add_pod("a", pod(requests={"cpu": 1}, uid="x"))
    table.remove_node("a")
    nodes = table.snapshot()
    assert (nodes.count, nodes.requested.any(), sum(map(len, nodes.pods))) == (1, False, 0)
    assert table.set_node(node("c")) == 0
    assert not table.snapshot().requested.any()


def test_rows_can_be_taken_apart():
    table = NodeTable()
    for name in "abcd":
        table.set_node(node(name))
    table.add_pod("c", pod(requests={"cpu": "1"}))
    table.remove_node("b")
    nodes = table.snapshot()
    one = nodes.take([2])
    assert (list(one.names), one.size, one.count, one.part) == (["c"], 1, 1, (2,))
    assert np.shares_memory(one.allocatable, nodes.allocatable)
    some = nodes.take([1, 2, 3])
    assert list(some.names) == ["", "c", "d"]
    assert some.count == 2
    assert some.requested[CPU].tolist() == [0, 1000, 0]
    assert some.named(["a", "c", "d"]).tolist() == [False, True, True]
    assert one.named([]).tolist() == [False]


def test_what_changed_since_a_snapshot_is_known():
    table = NodeTable()
    for name in "abcd":
        table.set_node(node(name))
    changes = table.snapshot().changes
    first = changes.serial
    assert changes.since(first) == frozenset()
    table.add_pod("b", pod())
    table.snapshot()
    table.add_pod("d", pod())
    table.set_node(node("b"))
    table.snapshot()
    assert changes.since(first) == {1, 3}
    assert changes.since(first + 1) == {1, 3}
    assert changes.since(first + 2) == frozenset()
    table.snapshot()
    assert changes.serial == first + 2
    table.set_node(node("new"))
    table.snapshot()
    assert changes.since(first + 2) is None


def test_changes_are_remembered_for_a_while_only():
    table = NodeTable()
    table.set_node(node("a"))
    first = table.snapshot().changes.serial
    for number in range(REMEMBERED + 1):
        table.add_pod("a", pod(uid=f"u{number}"))
        changes = table.snapshot().changes
    assert changes.since(first) is None
    assert changes.since(first + 1) == {0}


def test_a_demand_is_sorted_out_by_resource():
    spec = pod(
        requests={
            "cpu": "250m",
            "memory": "1Gi",
            "ephemeral-storage": "1Gi",
            "example.com/gpu": 2,
            "hugepages-2Mi": "4Mi",
        }
    ).spec
    demand = demand_of(spec)
    assert (demand.cpu, demand.memory, demand.ephemeral) == (250, 1 << 30, 1 << 30)
    assert dict(demand.extended) == {"example.com/gpu": 2, "hugepages-2Mi": 4 << 20}
    assert demand_of(spec) is demand


NAMES = st.sampled_from("abcdefgh")
REQUESTS = st.sampled_from(
    [
        {},
        {"cpu": "100m"},
        {"memory": "1Gi"},
        {"cpu": "1", "memory": "64Mi", "ephemeral-storage": "1Gi"},
        {"example.com/gpu": 1},
        {"example.com/fpga": 2, "cpu": "5"},
        {"memory": "7Ei"},
    ]
)
PORTS = st.sampled_from([(), (), (80,), (80, 81), (81,)])
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), NAMES, st.booleans()),
        st.tuples(st.just("drop"), NAMES, st.none()),
        st.tuples(st.just("add"), NAMES, st.tuples(REQUESTS, PORTS)),
        st.tuples(st.just("again"), NAMES, st.tuples(REQUESTS, PORTS)),
        st.tuples(st.just("remove"), NAMES, st.integers(0, 30)),
        st.tuples(st.just("look"), NAMES, st.none()),
    ),
    max_size=60,
)


Ask = tuple["Mapping[str, str | int]", tuple[int, ...]]


def asking(ask: Ask, uid: str) -> Pod:
    """A pod that requests these amounts and takes these ports of its host."""
    requests, ports = ask
    listening = [{"containerPort": number, "hostPort": number} for number in ports]
    return pod(uid=uid, containers=[{"name": "c", "resources": {"requests": dict(requests)}, "ports": listening}])


class Recount:
    """Drives a table and keeps the plainest books beside it."""

    def __init__(self, capacity: int) -> None:
        self.table = NodeTable(capacity)
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, tuple[str, Pod]] = {}
        self.numbers = itertools.count()
        self.seen = self.table.snapshot().changes.serial
        self.rows: dict[int, tuple[object, ...]] = {}

    def set(self, name: str, unschedulable: bool) -> None:
        allocatable = {"cpu": "4", "pods": 10, "example.com/gpu": 1}
        self.nodes[name] = node(name, unschedulable=unschedulable, allocatable=allocatable)
        self.table.set_node(self.nodes[name])

    def drop(self, name: str, _: None) -> None:
        self.nodes.pop(name, None)
        self.table.remove_node(name)

    def add(self, name: str, ask: Ask) -> None:
        made = asking(ask, f"u{next(self.numbers)}")
        self.pods[made.uid] = (name, made)
        assert self.table.add_pod(name, made) == (name in self.nodes)

    def again(self, name: str, ask: Ask) -> None:
        for uid, (where, _) in list(self.pods.items()):
            if where == name:
                self.pods[uid] = (where, asking(ask, uid))
                self.table.add_pod(where, self.pods[uid][1])

    def remove(self, name: str, number: int) -> None:
        there = self.pods.get(f"u{number}", ("", None))[0] == name
        assert self.table.remove_pod(name, f"u{number}") == there
        if there:
            del self.pods[f"u{number}"]

    def look(self, _name: str, _: None) -> None:
        """A row that differs from what it was is told of and has a newer generation; another keeps its own."""
        view = self.table.snapshot()
        told = view.changes.since(self.seen)
        rows = {row: self.row(view, row) for row in range(view.size)}
        for row, (generation, *now) in rows.items():
            before, *was = self.rows.get(row, (0,))
            assert now == was or generation > before
            assert told is None or (row in told) == (generation > before)
            assert now[:2] == was[:2] or not was or now[0] > was[0], "a node that changed has a newer generation, too"
        assert len({generation for generation, *_ in rows.values()}) == len(rows)
        self.seen, self.rows = view.changes.serial, rows

    def row(self, view: Nodes, row: int) -> tuple[object, ...]:
        amounts = (view.requested, view.scoring, view.allocatable)
        return (
            view.generation.item(row),
            view.node_generation.item(row),
            view.objects[row],
            view.names[row],
            [{lane: amount for lane, amount in enumerate(each[:, row].tolist()) if amount} for each in amounts],
            dict(view.pods[row]),
            view.ports.of(row),
        )

    def requested(self, name: str, view: Nodes) -> list[int]:
        demands = [demand_of(found.spec) for where, found in self.pods.values() if where == name]
        want = dict.fromkeys(view.lanes.values(), 0)
        want[CPU] = sum(demand.cpu for demand in demands)
        want[MEMORY] = sum(demand.memory for demand in demands)
        want[EPHEMERAL] = sum(demand.ephemeral for demand in demands)
        want[PODS] = len(demands)
        for resource, amount in (pair for demand in demands for pair in demand.extended):
            want[view.lanes[resource]] += amount
        return [min(want[lane], DEMAND_LIMIT) for lane in sorted(want)]

    def check(self) -> None:
        view = self.table.snapshot()
        assert view.count == len(self.nodes)
        assert self.table.sizes() == (len(self.nodes), len(self.pods))
        assert {view.names[row] for row in np.flatnonzero(view.valid)} == set(self.nodes)
        for name, each in self.nodes.items():
            row = view.index[name]
            mine = {uid: found for uid, (where, found) in self.pods.items() if where == name}
            assert view.objects[row] is each
            assert view.pods[row] == mine
            assert view.unschedulable[row] == each.unschedulable
            assert view.requested[:, row].tolist() == self.requested(name, view)
            scoring = sum(found.spec.scoring_cpu for found in mine.values())
            assert view.scoring[CPU, row] == min(scoring, DEMAND_LIMIT)
            assert view.ports.of(row) == {port for found in mine.values() for port in found.spec.host_ports}
        for row in np.flatnonzero(~view.valid):
            assert not view.requested[:, row].any()
            assert not view.ports.of(row)
            assert view.objects[row] is None


@pytest.mark.parametrize(("capacity", "few"), [(1, FEW), (64, FEW), (2, 0)])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=OPERATIONS)
def test_the_table_agrees_with_a_plain_recount(monkeypatch, capacity, few, operations):
    monkeypatch.setattr("replica.cache.node_table.FEW", few)
    recount = Recount(capacity)
    for kind, name, detail in operations:
        getattr(recount, kind)(name, detail)
    recount.check()
