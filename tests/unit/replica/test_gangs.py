"""Gangs, on an etcd in memory: all of them or none, and what that means when things happen in between."""

from __future__ import annotations

import threading

import pytest

from lockd.ports import KeyValue
from replica.api import codec
from replica.framework.status import SUCCESS, Code, Status
from replica.parts import Settings
from tests.harness import term
from tests.harness.wait import eventually
from tests.harness.world import WITHIN, World


def names(prefix, count):
    return [f"{prefix}{number}" for number in range(count)]


def small_cluster(world, nodes=4):
    for number in range(nodes):
        world.add_node(f"n{number}", allocatable={"cpu": "2", "memory": "8Gi", "pods": 10})


def bound(world, pods):
    return [name for name in pods if world.node_of(name)]


def told(world, name, reason="FailedScheduling"):
    return [event.note for event in world.events(reason) if event.regarding.name == name]


def binds(world):
    """The pods that each committed revision bound."""
    found = {}
    for event in world.etcd._log:
        if "/pods/" in event.key and event.value is not None:
            kv = KeyValue(event.key, event.value, event.mod_revision, event.create_revision)
            pod = codec.decode_pod(kv)
            if pod.node and pod.token:
                found.setdefault(event.mod_revision, []).append(pod.name)
    return [sorted(pods) for _, pods in sorted(found.items())]


def test_a_gang_is_bound_by_one_transaction_once_all_of_it_is_there():
    pods = names("a", 4)
    with World() as world:
        small_cluster(world)
        world.add_group("a", 4)
        world.lead()
        world.add_pods(*pods[:3], group="a", requests={"cpu": "1"})
        world.add_pods("single", requests={"cpu": "1"})
        world.wait_bound("single")
        assert bound(world, pods[:3]) == []
        world.add_pods(pods[3], group="a", requests={"cpu": "1"})
        world.wait_bound(*pods)
        assert binds(world) == [["single"], pods]


def test_a_gang_waits_for_its_pod_group():
    with World() as world:
        small_cluster(world)
        world.lead()
        world.add_pods("a0", "a1", group="a", requests={"cpu": "1"})
        eventually(lambda: world.queue.pending()["gated"] == 2, within=WITHIN)
        world.add_group("a", 2)
        world.wait_bound("a0", "a1")
        assert binds(world) == [["a0", "a1"]]


def test_of_two_gangs_that_each_need_more_than_half_one_runs_and_the_other_waits_whole():
    first, second = names("a", 8), names("b", 8)
    with World() as world:
        small_cluster(world, nodes=6)  # 12 cores: either fits, both don't
        world.add_group("a", 8)
        world.add_group("b", 8)
        for one, other in zip(first, second, strict=True):
            world.add_pods(one, group="a", requests={"cpu": "1"})
            world.add_pods(other, group="b", requests={"cpu": "1"})
        world.lead()
        eventually(lambda: bound(world, first) or bound(world, second), within=WITHIN)
        eventually(lambda: any(told(world, name) for name in (*first, *second)), within=WITHIN)
        runs, waits = (first, second) if bound(world, first) else (second, first)
        assert bound(world, runs) == runs
        assert bound(world, waits) == []
        message = told(world, waits[0])[0]
        assert "4 of the 8 pods that must run have a place: 0/6 nodes are available: 6 Insufficient cpu." in message
        for number in range(6, 12):
            world.add_node(f"n{number}", allocatable={"cpu": "2", "memory": "8Gi", "pods": 10})
        world.wait_bound(*waits)
        assert binds(world) == [runs, waits]


def test_who_comes_after_the_least_number_is_bound_by_itself_and_those_bound_count():
    with World() as world:
        small_cluster(world)
        world.add_group("a", 2)
        world.lead()
        world.add_pods("a0", "a1", group="a", requests={"cpu": "1"})
        world.wait_bound("a0", "a1")
        world.add_pods("a2", group="a", requests={"cpu": "1"})
        world.wait_bound("a2")
        assert binds(world) == [["a0", "a1"], ["a2"]]


def test_more_than_must_run_are_placed_as_far_as_there_is_room():
    pods = names("a", 6)
    with World() as world:
        small_cluster(world, nodes=2)
        world.add_group("a", 3)
        world.add_pods(*pods, group="a", requests={"cpu": "1"})
        world.lead()
        eventually(lambda: len(bound(world, pods)) == 4, within=WITHIN)
        assert [len(group) for group in binds(world)] == [4]
        left = next(name for name in pods if not world.node_of(name))
        eventually(lambda: told(world, left), within=WITHIN)
        assert told(world, left)[0] == "0/2 nodes are available: 2 Insufficient cpu."


def test_a_gang_in_which_one_pod_changes_on_the_way_is_bound_whole_all_the_same():
    pods = names("a", 3)
    with World() as world:
        small_cluster(world)
        world.add_group("a", 3)
        world.sender.plan.append("held")
        world.add_pods(*pods, group="a", requests={"cpu": "1"})
        world.lead()
        eventually(lambda: world.sender.sent, within=WITHIN)
        world.add_pods("a1", group="a", requests={"cpu": "1"}, uid="uid-of-a-newer-one")
        world.sender.commit(world.sender.sent[0])
        world.wait_bound(*pods)
        assert binds(world) == [pods]
        assert term.read(world.etcd, "a1").uid == "uid-of-a-newer-one"


def test_a_gang_larger_than_a_transaction_is_bound_in_order_and_completed_first_by_the_next_leader():
    pods = [f"a{number:03}" for number in range(150)]
    with World() as world:
        for number in range(4):
            world.add_node(f"n{number}", allocatable={"cpu": "40", "memory": "80Gi", "pods": 110})
        world.add_group("a", 150)
        world.add_pods(*pods, group="a", requests={"cpu": "1"})
        world.lead()
        world.wait_bound(*pods)
        assert binds(world) == [pods[:120], pods[120:]]


def test_the_next_leader_completes_a_gang_that_is_bound_in_part_before_it_does_anything_else():
    pods = names("a", 8)
    with World() as world:
        small_cluster(world, nodes=4)
        world.add_pods(*pods[:3], group="a", requests={"cpu": "1"}, node="n0")
        world.add_pods("urgent", priority=1000, requests={"cpu": "2"})
        world.add_pods(*pods[3:], group="a", requests={"cpu": "1"})
        world.add_group("a", 8)
        eventually(lambda: world.queue.pending()["active"] == 6, within=WITHIN)
        world.lead()
        world.wait_bound(*pods)
        eventually(lambda: told(world, "urgent"), within=WITHIN)
        assert world.node_of("urgent") == ""


def test_who_waits_for_others_of_its_gang_is_told_so(monkeypatch):
    monkeypatch.setattr("replica.gangs.TOLD_AFTER", 0.05)
    monkeypatch.setattr("replica.gangs.LOOK", 0.01)
    with World() as world:
        small_cluster(world)
        world.lead()
        world.add_pods("a0", group="a", requests={"cpu": "1"})
        eventually(lambda: "pod group default/a not found" in told(world, "a0"), within=WITHIN)
        world.add_group("a", 3)
        message = "pod group default/a: 1 of the 3 pods that must run are there"
        eventually(lambda: world.condition("a0").message == message, within=WITHIN)
        world.add_pods("a1", "a2", group="a", requests={"cpu": "1"})
        world.wait_bound("a0", "a1", "a2")


class Holding:
    """Permit that holds what is asked for, and PreBind that refuses."""

    name = "Holding"

    def __init__(self, hold=(), refuse=()):
        self.hold, self.refuse = hold, refuse

    def permit(self, _state, pod, _node):
        return (Status(Code.WAIT), 600.0) if pod.name in self.hold else (SUCCESS, 0.0)

    def pre_bind(self, _state, pod, _node):
        return Status(Code.UNSCHEDULABLE, ("no",)) if pod.name in self.refuse else SUCCESS

    def events_to_register(self):
        return ()


def test_a_gang_goes_to_the_binder_when_the_last_of_it_is_permitted():
    pods = names("a", 3)
    with World(Holding(hold=("a1",))) as world:
        small_cluster(world)
        world.add_group("a", 3)
        world.add_pods(*pods, group="a", requests={"cpu": "1"})
        world.lead()
        eventually(lambda: len(world.waiting) == 1, within=WITHIN)
        world.add_pods("single")
        world.wait_bound("single")
        assert bound(world, pods) == []
        (held,) = world.waiting.all()
        world.waiting.allow(held.pod.uid, "Holding")
        world.wait_bound(*pods)
        assert binds(world) == [["single"], pods]


@pytest.mark.parametrize(
    ("hold", "refuse", "spec"), [((), ("a1",), {}), (("a1",), (), {"scheduleTimeoutSeconds": 0.05})]
)
def test_a_gang_of_which_one_is_refused_late_or_held_too_long_gives_all_its_places_back(hold, refuse, spec):
    pods = names("a", 3)
    with World(Holding(hold=hold, refuse=refuse), backoff=2.0) as world:
        small_cluster(world)
        world.add_group("a", 3, **spec)
        world.add_pods(*pods, group="a", requests={"cpu": "1"})
        world.lead()
        eventually(lambda: all(told(world, name) for name in pods), within=WITHIN)
        assert bound(world, pods) == []
        eventually(lambda: world.assumed.counts() == (0, 0), within=WITHIN)


def test_the_end_of_a_term_gives_up_what_a_gang_has_and_the_next_one_binds_it():
    pods = names("a", 3)
    with World(Holding(hold=("a1",))) as world:
        small_cluster(world)
        world.add_group("a", 3)
        world.add_pods(*pods, group="a", requests={"cpu": "1"})
        world.lead()
        eventually(lambda: len(world.waiting) == 1, within=WITHIN)
        world.leadership.draining.set()
        world.wait_for_end()
        assert world.assumed.counts() == (0, 0)
        assert threading.active_count() < 60
        assert bound(world, pods) == []


def large(world):
    """A gang of two parcels that has its places, the first bind of which is held on its way."""
    pods = [f"a{number:03}" for number in range(125)]
    for number in range(2):
        world.add_node(f"n{number}", allocatable={"cpu": "100", "memory": "80Gi", "pods": 110})
    world.add_group("a", 125)
    world.add_pods(*pods, group="a", requests={"cpu": "1"})
    world.sender.plan.append("held")
    world.lead()
    eventually(lambda: world.sender.sent, within=WITHIN)
    return pods


def test_a_parcel_is_not_sent_before_the_one_ahead_of_it_is_bound():
    with World(settings=Settings(attempt=60.0, patience=600.0, barrier=5.0, drain=5.0)) as world:
        pods = large(world)
        world.add_pods("single")
        world.wait_bound("single")
        assert bound(world, pods) == []
        world.sender.commit(world.sender.sent[0])
        world.wait_bound(*pods)
        assert binds(world) == [["single"], pods[:120], pods[120:]]


def test_what_was_to_follow_a_refused_parcel_is_tried_again_whole():
    with World(settings=Settings(attempt=60.0, patience=600.0, barrier=5.0, drain=5.0)) as world:
        pods = large(world)
        world.add_pods("a000", group="a", requests={"cpu": "1"}, uid="uid-of-a-newer-one")
        world.sender.commit(world.sender.sent[0])
        world.wait_bound(*pods)
        assert binds(world) == [sorted(group) for group in (binds(world)[0], binds(world)[1])]
        assert [len(group) for group in binds(world)] == [120, 5]
