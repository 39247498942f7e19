"""Everything goes wrong at once, among many pods: each trouble ends as it should, none stops the loop, nothing is left.

The small version runs with all tests; the one with 10,000 pods on 1,000 nodes is among the slow ones.
"""

from __future__ import annotations

import gc
import re
import statistics
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest

from replica.api.keys import object_key
from replica.api.kinds import NODE
from replica.events.correlator import SILENCE
from replica.framework.interface import PreFilterResult
from replica.framework.status import SUCCESS, Code, Status
from tests.harness import term
from tests.harness.wait import eventually
from tests.harness.world import World

pytestmark = pytest.mark.timeout(900)

WITHIN = 300.0


@dataclass(frozen=True)
class Size:
    """How many of each."""

    nodes: int
    fine: int
    hopeless: int
    each: int
    rounds: int = 4

    def names(self, kind):
        count = {"fine": self.fine, "hopeless": self.hopeless}.get(kind, self.each)
        return [f"{kind}-{number}" for number in range(count)]


TINY = Size(nodes=10, fine=80, hopeless=10, each=4, rounds=10)
SMALL = Size(nodes=20, fine=250, hopeless=30, each=6)
LARGE = Size(nodes=1000, fine=8_850, hopeless=1000, each=50, rounds=2)

sizes = pytest.mark.parametrize(
    "size", [pytest.param(SMALL, id="small"), pytest.param(LARGE, id="large", marks=pytest.mark.slow)]
)


class Trouble:
    """Raises for some pods, has others wait, and wants some on one node alone, until it is `calm`."""

    name = "Trouble"

    def __init__(self):
        self.calm = False

    def pre_filter(self, state, pod, nodes):
        if pod.name.startswith("raises") and not self.calm:
            raise ValueError("planted")
        if pod.name.startswith("doomed"):
            return PreFilterResult(SUCCESS, frozenset({"doomed"}))
        return PreFilterResult(SUCCESS)

    def permit(self, state, pod, node_name):
        held = pod.name.startswith(("doomed", "waits")) and not self.calm
        return (Status(Code.WAIT), 600.0) if held else (SUCCESS, 0.0)


class Raises:
    """A handler that never does anything else."""

    def __init__(self):
        self.told = 0

    def fail(self, *_, **__):
        self.told += 1
        raise ValueError("planted")

    on_add = on_update = on_delete = fail


def node_key(name):
    return object_key(term.PREFIX, NODE, name)


def bound(world):
    """The names of the pods that etcd has on a node."""
    return {pod.name for pod in world.informers.pods.lister.list() if pod.node}


def waiting(world):
    return {each.pod.name for each in world.waiting.all()}


def allow(world, names):
    for each in world.waiting.all():
        if each.pod.name in names:
            world.waiting.allow(each.pod.uid, "Trouble")


def delete(world, names):
    for name in names:
        world.etcd.delete(term.pod_key(name))


def add_nodes(world, size):
    for number in range(size.nodes):
        world.add_node(f"n-{number}", allocatable={"cpu": "32", "memory": "64Gi", "pods": "110"})


def assert_books_agree(world):
    """What counts on nodes is what etcd has there, nothing is assumed any more, and no node has too much."""
    eventually(  # of the last bind etcd may know, and the watch not yet
        lambda: world.assumed.counts() == (len(bound(world)), 0), within=WITHIN, what="no pod is assumed any more"
    )
    placed = {pod.name: pod.node for pod in world.informers.pods.lister.list() if pod.node}
    nodes = world.table.snapshot()
    counted = {pod.name: name for name, pods in zip(nodes.names, nodes.pods, strict=True) for pod in pods.values()}
    # Who was bound to a node that has gone is not counted, and will be if it comes back.
    assert counted == {name: node for name, node in placed.items() if world.table.row(node) is not None}
    assert np.all(nodes.requested[:, nodes.valid] <= nodes.allocatable[:, nodes.valid])
    assert world.queue.in_flight() == 0
    assert len(world.waiting) == 0


@sizes
def test_each_trouble_ends_as_it_should_and_none_stops_the_loop(size):
    plugin, handler = Trouble(), Raises()
    with World(plugin, backoff=0.05) as world:
        add_nodes(world, size)
        world.add_node("doomed", allocatable={"cpu": "64", "memory": "64Gi", "pods": "110"})
        world.informers.pods.add_handler(handler, name="bad")
        kinds = {kind: size.names(kind) for kind in ("raises", "doomed", "waits", "hopeless", "fine")}
        for kind, names in kinds.items():
            world.add_pods(*names, requests={"cpu": "1000" if kind == "hopeless" else "100m"})
        world.lead()
        held = {*kinds["doomed"], *kinds["waits"]}
        eventually(lambda: waiting(world) == held, within=WITHIN, what="some wait in Permit")
        eventually(lambda: bound(world) >= set(kinds["fine"]), within=WITHIN, what="the others are bound")
        assert bound(world) == set(kinds["fine"])
        eventually(lambda: world.assumed.counts()[1] == len(held), within=WITHIN, what="the watch shows those bound")

        # A node goes under pods that are assumed on it, and pods go while they wait: in Permit, in backoff, and
        # unschedulable.
        world.etcd.delete(node_key("doomed"))
        gone = {name for kind in ("waits", "raises", "hopeless") for name in kinds[kind][::2]}
        delete(world, gone)
        left = set().union(*kinds.values()) - gone
        eventually(lambda: waiting(world) == held - gone, within=WITHIN, what="who is deleted waits no longer")
        eventually(lambda: world.table.row("doomed") is None, within=WITHIN, what="the node is gone")
        allow(world, held)
        plugin.calm = True
        pending = {name for name in left if name.startswith(("hopeless", "doomed"))}
        eventually(lambda: bound(world) == left - pending, within=WITHIN, what="all are bound that can be")
        eventually(
            lambda: world.queue.pending() == {"active": 0, "backoff": 0, "unschedulable": len(pending), "gated": 0},
            within=WITHIN,
            what="the others are unschedulable",
        )
        assert_books_agree(world)
        for name in (kinds["hopeless"][1], kinds["hopeless"][-1]):
            told = world.condition(name)
            assert told.reason == "Unschedulable"
            assert re.fullmatch(r"0/(\d+) nodes are available: \1 Insufficient cpu\. preemption: .+\.", told.message)

        # The node comes back.
        world.add_node("doomed", allocatable={"cpu": "64", "memory": "64Gi", "pods": "110"})
        eventually(lambda: bound(world) >= set(kinds["doomed"]), within=WITHIN, what="its pods are bound")
        assert {world.node_of(name) for name in kinds["doomed"]} == {"doomed"}
        assert world.queue.pending()["unschedulable"] == len(pending) - size.each
        assert_books_agree(world)
        assert world.failure is None
        assert world.group.failure is None
        assert handler.told >= size.fine


def test_a_pod_deleted_on_its_way_into_permit_does_not_wait_there():
    class Slow:
        name = "Slow"

        def permit(self, state, pod, node_name):
            world.etcd.delete(term.pod_key(pod.name))
            eventually(lambda: pod.uid not in world.assumed, within=WITHIN, what="the caches know that it is gone")
            return Status(Code.WAIT), 600.0

    with World(Slow()) as world:
        world.add_node("a")
        world.add_pods("p")
        world.lead()
        eventually(lambda: world.etcd.get(term.pod_key("p")) is None, within=WITHIN)
        eventually(lambda: not world.queue.in_flight() and not world.waiting.all(), within=20.0, what="it is let go")
        assert_books_agree(world)
        assert world.failure is None


def test_a_place_on_a_node_that_goes_in_permit_is_given_up():
    plugin = Trouble()
    with World(plugin) as world:
        world.add_node("a")
        world.add_pods("waits-0")
        world.lead()
        eventually(lambda: waiting(world) == {"waits-0"}, within=WITHIN)
        world.etcd.delete(node_key("a"))
        world.add_node("b")
        eventually(lambda: world.table.row("a") is None and world.table.row("b") is not None, within=WITHIN)
        plugin.calm = True
        allow(world, {"waits-0"})
        world.wait_bound("waits-0")
        assert world.node_of("waits-0") == "b"
        eventually(
            lambda: [event.note for event in world.events("FailedScheduling")] == ["node a is gone"], within=WITHIN
        )
        eventually(lambda: world.queue.in_flight() == 0, within=WITHIN)  # the verdict on the bind comes after the bind
        assert_books_agree(world)


@pytest.mark.parametrize(
    "size", [pytest.param(TINY, id="small"), pytest.param(LARGE, id="large", marks=pytest.mark.slow)]
)
def test_memory_returns(size):
    """Rounds of pods that come, are bound or can't be, and go: after each it is what it was."""
    with World(backoff=0.05) as world:
        add_nodes(world, size)
        world.lead()
        tracemalloc.start()
        try:
            full, rest = [], []
            for _ in range(size.rounds):
                fine, hopeless = size.names("fine"), size.names("hopeless")
                world.add_pods(*fine, requests={"cpu": "100m"})
                world.add_pods(*hopeless, requests={"cpu": "1000"})
                eventually(lambda: len(bound(world)) == size.fine, within=WITHIN, what="all are bound that can be")
                eventually(
                    lambda: world.queue.pending()["unschedulable"] == size.hopeless,
                    within=WITHIN,
                    what="the others are unschedulable",
                )
                eventually(lambda: told(world) >= size.fine + size.hopeless, within=WITHIN, what="events tell of each")
                full.append(tracemalloc.get_traced_memory()[0])
                delete(world, (*fine, *hopeless))
                eventually(lambda: empty(world), within=WITHIN, what="all are forgotten")
                forget_history(world)
                gc.collect()
                rest.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
        held = full[-1] - rest[-1]
        # Dicts and caches fill in the first rounds, and any round may make room in one: a leak is what grows on.
        some = min(4, size.rounds // 2)
        grown = statistics.median(rest[-some:]) - statistics.median(rest[-2 * some : -some])
        assert grown / some < held / 10, (full, rest)


def empty(world):
    _, pods = world.table.sizes()
    return (
        not len(world.informers.pods.indexer)
        and not pods
        and not sum(world.queue.pending().values())
        and not world.queue.in_flight()
        and world.assumed.counts() == (0, 0)
        and not world.waiting.all()
    )


def told(world):
    """How many events are stored."""
    return len(world.etcd.list(f"{term.PREFIX}/events/", timeout=1).kvs)


def forget_history(world):
    """Drop what the test's own etcd keeps, and let the correlator's events grow old."""
    world.sink._term.correlator.due(world.clock.now() + 2 * SILENCE)
    for kv in world.etcd.list(f"{term.PREFIX}/events/", timeout=1).kvs:
        world.etcd.delete(kv.key)
    # Events move no marker: it is the next renewal by which caches know that they have seen what came before.
    renewal = world.etcd.put(f"{term.PREFIX}/leases/kube-system/kube-scheduler", b"")
    eventually(lambda: world.informers.hub.applied >= renewal, within=WITHIN, what="the caches caught up")
    world.etcd._log.clear()
    world.sender.sent.clear()
