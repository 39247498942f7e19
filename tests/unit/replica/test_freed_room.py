"""Room that a pod held and lost goes to those who were refused meanwhile, though no pod on a node was deleted."""

from __future__ import annotations

import pytest

from replica.framework.status import SUCCESS, Code, Status
from tests.harness import term
from tests.harness.wait import eventually
from tests.harness.world import WITHIN, World

ROOM = {"cpu": "1", "pods": 10}


class Holds:
    """Permit: pods of this name wait until the test lets them."""

    name = "Holds"

    def permit(self, state, pod, node_name):
        return (Status(Code.WAIT), 600.0) if pod.name == "held" else (SUCCESS, 0.0)


def refused(world, name):
    """It was tried, and sleeps until something happens that may help."""
    return world.queue.get(f"default/{name}") is not None and world.queue.pending()["unschedulable"]


def rejected(world):
    (waiting,) = world.waiting.all()
    world.waiting.reject(waiting.pod.uid, "NodeAffinity", "not here")


def deleted(world):
    world.etcd.delete(term.pod_key("held"))


@pytest.mark.parametrize("end", [rejected, deleted])
def test_room_of_a_pod_that_was_held_and_went(end):
    with World(Holds()) as world:
        world.add_node("a", allocatable=ROOM)
        world.add_pods("held", requests={"cpu": "1"})
        world.lead()
        eventually(lambda: len(world.waiting) == 1, within=WITHIN)
        world.add_pods("p", requests={"cpu": "1"})
        eventually(lambda: refused(world, "p"), within=WITHIN)
        end(world)
        world.wait_bound("p")


def test_room_of_a_pod_that_could_not_be_bound():
    with World() as world:
        world.add_node("a", allocatable=ROOM)
        world.sender.largest = 50_000
        world.add_pods("large", comment="x" * 60_000, priority=1, requests={"cpu": "1"})
        world.add_pods("p", requests={"cpu": "1"})
        world.lead()
        world.wait_bound("p")


def test_room_that_was_promised_to_a_pod_which_is_deleted():
    with World() as world:
        world.add_node("a", allocatable=ROOM)
        world.add_pods("chosen", schedulingGates=[{"name": "wait"}], priority=5, requests={"cpu": "1"})
        world.lead()
        eventually(lambda: world.queue.get("default/chosen"), within=WITHIN)
        world.queue.nominator.nominate(world.queue.get("default/chosen").pod, "a")
        world.add_pods("p", requests={"cpu": "1"})
        eventually(lambda: refused(world, "p"), within=WITHIN)
        world.etcd.delete(term.pod_key("chosen"))
        world.wait_bound("p")
