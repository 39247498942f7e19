"""Room that preemption promised: who heeds it, what a plugin is told, and the pod it was promised to."""

from __future__ import annotations

import random

import pytest

from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.interface import Handle, PreFilterResult
from replica.framework.status import SUCCESS, PluginFailed, unschedulable
from replica.framework.waiting import WaitingPods
from replica.framework.what_if import what_if
from replica.queue.nominator import Nominator
from tests.harness.clock import ManualClock
from tests.harness.framework import runtime_of, table_of
from tests.harness.objects import node, pod

ROOM = {"cpu": "4", "memory": "8Gi", "pods": 10, "example.com/gpu": 2}


class World:
    def __init__(self, *plugins, nodes=("a",)):
        self.nominator = Nominator()
        self.table = table_of([node(name, allocatable=ROOM) for name in nodes])
        handle = Handle(ManualClock(), random.Random(1), WaitingPods(), nominator=self.nominator)  # noqa: S311
        self.runtime = runtime_of(*plugins, with_handle=handle)

    def place(self, *args, **spec):
        return self.runtime.place(CycleState(), pod(*args, **spec), self.table.snapshot())


def test_room_that_was_promised_is_left_to_who_was_promised_it():
    world = World()
    world.nominator.nominate(pod("chosen", requests={"cpu": "3"}, priority=10), "a")
    found = world.place("late", requests={"cpu": "2"}, priority=10)
    assert isinstance(found, Diagnosis)
    assert found.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert found.plugins == {"NodeResourcesFit"}
    assert found.resolvable is not None
    assert found.resolvable.all()
    assert world.place("small", requests={"cpu": "1"}, priority=10).node_name == "a"
    assert world.place("first", requests={"cpu": "2"}, priority=11).node_name == "a"
    assert world.place("chosen", requests={"cpu": "3"}, priority=10).node_name == "a"
    world.nominator.forget("default/chosen")
    assert world.place("late", requests={"cpu": "2"}, priority=10).node_name == "a"


def test_of_two_promises_one_is_taken_back():
    world = World(nodes=("a", "b"))
    for name in "ab":
        world.nominator.nominate(pod(f"for-{name}", requests={"cpu": "4"}), name)
    assert isinstance(world.place("late", requests={"cpu": "2"}), Diagnosis)
    world.nominator.forget("default/for-a")
    assert world.place("late", requests={"cpu": "2"}).node_name == "a"


def test_pods_that_are_alike_heed_a_promise_made_between_them():
    world = World(nodes=("a", "b"))
    world.place("one", requests={"cpu": "2"})
    for name in "ab":
        world.nominator.nominate(pod(f"for-{name}", requests={"cpu": "3"}), name)
    assert isinstance(world.place("two", requests={"cpu": "2"}), Diagnosis)


def test_another_node_is_taken_where_there_is_one():
    world = World(nodes=("a", "b"))
    world.nominator.nominate(pod("chosen", requests={"cpu": "4"}), "a")
    assert {world.place(f"p{number}", requests={"cpu": "1"}).node_name for number in range(10)} == {"b"}


def test_a_promised_node_is_taken_though_another_scores_better():
    world = World(nodes=("a", "b"))
    world.table.add_pod("b", pod("old", requests={"cpu": "2"}))
    world.nominator.nominate(pod("chosen", requests={"cpu": "1"}), "b")
    placed = world.place("chosen", requests={"cpu": "1"})
    assert (placed.node_name, placed.feasible) == ("b", 1)
    world.nominator.nominate(pod("chosen", requests={"cpu": "3"}), "b")  # which has no such room
    assert world.place("chosen", requests={"cpu": "3"}).node_name == "a"
    world.nominator.nominate(pod("chosen", requests={"cpu": "3"}), "gone")
    assert world.place("chosen", requests={"cpu": "3"}).node_name == "a"


def test_what_does_not_fit_now_does_not_fit_with_more_pods_either():
    world = World(nodes=("a", "b"))
    world.table.add_pod("a", pod("old", requests={"cpu": "4"}))
    world.nominator.nominate(pod("chosen", requests={"cpu": "1"}), "a")
    assert world.place("late", requests={"cpu": "2"}).node_name == "b"


class Crowd:
    """Lets two pods onto a node, which it counts in a state of its own."""

    name = "Crowd"
    answer = SUCCESS

    def __init__(self):
        self.counts = []

    def pre_filter(self, state, pod, nodes):
        state.write("Crowd", Count(0))
        self.counts.append(state.read("Crowd", Count))
        return PreFilterResult()

    def add_pod(self, state, pod, added, nodes):
        assert nodes.size == 1
        assert added.uid in nodes.pods[0]
        state.read("Crowd", Count).more += 1
        return self.answer

    def remove_pod(self, state, pod, removed, nodes):
        state.read("Crowd", Count).more -= 1
        return SUCCESS

    def filter_node(self, state, pod, node):
        return SUCCESS if state.read("Crowd", Count).more < 2 else unschedulable("too crowded")


class Count:
    def __init__(self, more):
        self.more = more

    def clone(self):
        return Count(self.more)


def test_a_plugin_is_told_of_pods_that_would_come_in_a_state_of_their_own():
    crowd = Crowd()
    world = World(crowd, nodes=("a", "b"))
    for number in range(2):
        world.nominator.nominate(pod(f"chosen-{number}"), "a")
    world.nominator.nominate(pod("other"), "b")
    assert {world.place(f"p{number}").node_name for number in range(6)} == {"b"}
    assert [count.more for count in crowd.counts] == [0] * 6
    world.nominator.nominate(pod("more"), "b")
    assert world.place("late").message == "0/2 nodes are available: 2 too crowded."


def test_a_plugin_that_fails_to_take_in_such_a_pod_ends_the_cycle():
    crowd = Crowd()
    crowd.answer = unschedulable("no")
    world = World(crowd)
    world.nominator.nominate(pod("chosen"), "a")
    with pytest.raises(PluginFailed, match="running PreFilter plugin 'Crowd': no"):
        world.place("late")


def test_a_node_with_pods_that_come_and_go():
    old = pod("old", requests={"cpu": "1", "example.com/gpu": 1})
    new = pod("new", requests={"cpu": "2", "memory": "1Gi", "example.com/gpu": 2, "example.com/fpga": 1})
    table = table_of([node("a", allocatable=ROOM), node("b", allocatable=ROOM)], [("b", old)])
    nodes = table.snapshot()
    row = nodes.index["b"]
    before = nodes.requested[:, row].tolist()
    part = what_if(nodes, row, more=[new], fewer=[old])
    table.remove_pod("b", old.uid)
    table.add_pod("b", new)
    after = table.snapshot()
    assert part.names == ["b"]
    lanes = part.requested.shape[0]
    assert part.requested[:, 0].tolist() == after.requested[:lanes, row].tolist()
    assert part.scoring[:, 0].tolist() == after.scoring[:, row].tolist()
    assert set(part.pods[0]) == {new.uid}
    assert before != part.requested[:, 0].tolist()


def test_host_ports_of_pods_that_would_come():
    ports = [{"containerPort": 80, "hostPort": 80}]
    world = World(nodes=("a", "b"))
    world.nominator.nominate(pod("chosen", containers=[{"name": "c", "image": "i", "ports": ports}]), "a")
    late = {"containers": [{"name": "c", "image": "i", "ports": ports}]}
    assert {world.place(f"p{number}", **late).node_name for number in range(4)} == {"b"}


def test_a_node_of_which_more_is_asked_than_a_column_can_say():
    whales = [pod(f"whale-{number}", requests={"memory": "100Pi"}) for number in range(3)]
    table = table_of([node("a", allocatable=ROOM)], [("a", whale) for whale in whales])
    nodes = table.snapshot()
    for gone in ([], whales[:1], whales[:2], whales):
        part = what_if(nodes, 0, fewer=gone)
        for whale in gone:
            table.remove_pod("a", whale.uid)
        assert part.requested[:, 0].tolist() == table.snapshot().requested[:, 0].tolist()
        for whale in gone:
            table.add_pod("a", whale)
        nodes = table.snapshot()
