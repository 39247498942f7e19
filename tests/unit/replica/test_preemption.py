"""Preemption from the refusal of a pod to its bind, on an etcd in memory."""

from __future__ import annotations

import json

from lockd.ports import KeyValue
from replica.api import codec
from replica.api.codec import encode
from replica.api.keys import object_key
from replica.api.kinds import DISRUPTION_BUDGET, POD
from replica.preemption.reaper import KILLED
from tests.harness import term
from tests.harness.wait import eventually
from tests.harness.world import WITHIN, World

ROOM = {"cpu": "4", "memory": "8Gi", "pods": 10}


def running(world, name, *, cpu="2", priority=0, node="a", **spec):
    world.add_pods(name, requests={"cpu": cpu}, node=node, priority=priority, **spec)


def waiting(world, name, *, cpu="2", priority=10, **spec):
    world.add_pods(name, requests={"cpu": cpu}, priority=priority, **spec)


def stored(world, name):
    return world.etcd.get(term.pod_key(name))


def pod(world, name):
    found = stored(world, name)
    return None if found is None else codec.decode_pod(found)


def notes(world, reason):
    return {event.regarding.name: event.note for event in world.events(reason)}


def nominated(world, name):
    found = stored(world, name)
    return "" if found is None else codec.status_of(found.value).nominated_node_name


def test_a_pod_that_matters_more_gets_room():
    with World() as world:
        world.add_node("a", allocatable=ROOM)
        running(world, "low", cpu="3", terminationGracePeriodSeconds=1)
        running(world, "equal", cpu="1", priority=10)
        world.lead()
        waiting(world, "high", cpu="3")
        eventually(lambda: nominated(world, "high") == "a", within=WITHIN)
        low = pod(world, "low")
        assert (low.deleting, low.node, low.token) == (True, "a", world.leadership.token)
        # The promise and the mark are one transaction.
        assert stored(world, "high").mod_revision == low.mod_revision
        condition = codec.status_of(stored(world, "low").value).conditions[-1]
        assert (condition.type, condition.status, condition.reason) == (
            "DisruptionTarget",
            "True",
            "PreemptionByScheduler",
        )
        assert condition.message == "default-scheduler: preempting to accommodate a higher priority pod"
        world.wait_bound("high")
        assert stored(world, "low") is None
        assert not pod(world, "equal").deleting
        assert nominated(world, "high") == ""
        assert notes(world, "Preempted") == {"low": f"Preempted by pod {pod(world, 'high').uid} on node a"}
        eventually(lambda: "low" in notes(world, KILLED), within=WITHIN)
        assert len(world.queue.nominator) == 0


def test_a_victim_without_grace_is_deleted_with_the_promise():
    with World() as world:
        world.add_node("a", allocatable=ROOM)
        running(world, "low", cpu="3", terminationGracePeriodSeconds=0)
        uid = pod(world, "low").uid
        world.lead()
        waiting(world, "high", cpu="3")
        world.wait_bound("high")
        assert stored(world, "low") is None
        (event,) = world.events("Preempted")
        assert (event.regarding.name, event.regarding.uid, event.token) == ("low", uid, world.leadership.token)
        assert world.events(KILLED) == []


def test_never_means_never():
    with World() as world:
        world.add_node("a", allocatable=ROOM)
        running(world, "low", cpu="3")
        world.lead()
        waiting(world, "high", cpu="3", preemptionPolicy="Never")
        eventually(lambda: world.condition("high"), within=WITHIN)
        assert world.condition("high").message == (
            "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
        )
        assert not pod(world, "low").deleting


def test_nobody_who_matters_as_much_goes():
    with World() as world:
        world.add_node("a", allocatable=ROOM)
        world.add_node("b", allocatable={"cpu": "1", "pods": 10})
        running(world, "same", cpu="3", priority=10)
        world.lead()
        waiting(world, "high", cpu="3")
        eventually(lambda: world.condition("high"), within=WITHIN)
        assert world.condition("high").message == (
            "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
            "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
        )


def test_room_that_is_being_made_is_not_made_twice():
    with World() as world:
        world.add_node("a", allocatable=ROOM)
        world.add_node("b", allocatable=ROOM)
        for node in "ab":
            running(world, f"low-{node}", cpu="3", node=node, terminationGracePeriodSeconds=600)
        world.lead()
        waiting(world, "high", cpu="3")
        eventually(lambda: nominated(world, "high"), within=WITHIN)
        node = nominated(world, "high")
        # A pod elsewhere goes, which has the waiting one tried again.
        running(world, "other", cpu="100m", node=node)
        world.etcd.delete(term.pod_key("other"))
        told = "preemption: not eligible due to a terminating pod on the nominated node."
        eventually(lambda: told in world.condition("high").message, within=WITHIN)
        assert nominated(world, "high") == node
        assert [pod(world, f"low-{each}").deleting for each in "ab"] == [node == "a", node == "b"]


def test_a_promise_is_taken_back_when_somebody_more_important_takes_the_room():
    with World() as world:
        world.add_node("a", allocatable=ROOM)
        running(world, "low", cpu="3", terminationGracePeriodSeconds=600)
        world.lead()
        waiting(world, "high", cpu="3", priority=10)
        eventually(lambda: nominated(world, "high") == "a", within=WITHIN)
        eventually(lambda: world.queue.nominator.node_of("default/high") == "a", within=WITHIN)
        waiting(world, "higher", cpu="3", priority=20)
        eventually(lambda: nominated(world, "higher") == "a", within=WITHIN)
        eventually(lambda: nominated(world, "high") == "", within=WITHIN)
        assert world.condition("high").status == "False"


def test_a_promise_goes_with_its_node():
    with World() as world:
        world.add_node("a", allocatable=ROOM)
        running(world, "low", cpu="3", terminationGracePeriodSeconds=600)
        world.lead()
        waiting(world, "high", cpu="3")
        eventually(lambda: nominated(world, "high") == "a", within=WITHIN)
        world.etcd.delete(object_key(term.PREFIX, codec.NODE, "a"))
        world.add_node("small", allocatable={"cpu": "1", "pods": 10})
        eventually(lambda: nominated(world, "high") == "", within=WITHIN)
        assert len(world.queue.nominator) == 0


def test_a_successor_takes_away_whom_its_predecessor_marked():
    with World() as world:
        world.add_node("a", allocatable=ROOM)
        value = codec.marked(
            encode(json.dumps({"metadata": {"name": "low", "uid": "u"}, "spec": {}}).encode(), node="a"),
            3,
            scheduler="default-scheduler",
            at="2026-01-01T00:00:00Z",
            ends="2026-01-01T00:00:30Z",
            grace=30,
        )
        world.etcd.put(term.pod_key("low"), value)
        # One that a user marked is a kubelet's affair.
        world.add_pods("users", node="a", deleting=True)
        world.lead()
        eventually(lambda: stored(world, "low") is None, within=WITHIN)
        (event,) = world.events(KILLED)
        assert (event.regarding.uid, event.token) == ("u", world.leadership.token)
        assert stored(world, "users") is not None


def test_budgets_decide_between_nodes():
    with World() as world:
        for node in "ab":
            world.add_node(node, allocatable=ROOM)
        manifest = {
            "metadata": {"name": "b"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}},
        }
        key = object_key(term.PREFIX, DISRUPTION_BUDGET, "b", "default")
        world.etcd.put(key, encode(json.dumps(manifest).encode()))
        document = {
            "metadata": {"name": "kept", "uid": "kept", "labels": {"app": "kept"}},
            "spec": {
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}],
                "terminationGracePeriodSeconds": 0,
            },
        }
        world.etcd.put(object_key(term.PREFIX, POD, "kept", "default"), encode(json.dumps(document).encode(), node="a"))
        running(world, "free", cpu="3", priority=5, node="b", terminationGracePeriodSeconds=0)
        eventually(lambda: world.budgets.version, within=WITHIN)
        world.lead()
        waiting(world, "high", cpu="3")
        world.wait_bound("high")
        # The more important one goes, since it is nobody's.
        assert world.node_of("high") == "b"
        assert stored(world, "free") is None


def test_what_is_marked_keeps_its_manifest():
    kv = KeyValue("/t/pods/default/p", encode(b'{"metadata":{"name":"p","x":[1, 2]},"spec":{"a":  1}}', node="n"), 5, 5)
    value = codec.marked(kv.value, 7, scheduler="s", at="2026-01-01T00:00:00Z", ends="2026-01-01T00:00:31Z", grace=30)
    envelope = codec.parse_envelope(kv.key, value)
    assert envelope.manifest == (
        b'{"metadata":{"name":"p","x":[1, 2],"deletionTimestamp":"2026-01-01T00:00:31Z",'
        b'"deletionGracePeriodSeconds":30},"spec":{"a":  1}}'
    )
    assert (envelope.fencing_token, envelope.node_name) == (7, "n")
    found = codec.decode_pod(KeyValue(kv.key, value, 6, 5))
    assert (found.deleting, found.ends) == (True, "2026-01-01T00:00:31Z")
