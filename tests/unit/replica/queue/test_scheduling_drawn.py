"""Whatever happens, each pod is in one place, none is lost, and none comes twice."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from replica.api.pods import Pod
from replica.api.podspec import PodSpec
from replica.queue.hints import ASSIGNED_POD_DELETE, NODE_ADD, Action, ClusterEvent, Hints, Registration, Resource
from replica.queue.scheduling import SchedulingQueue
from tests.harness.clock import ManualClock

NAMES = "abcde"
PLUGINS = ("Fit", "Affinity", "Silent")
HINTS = Hints.of(
    [
        Registration("Fit", ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)),
        Registration("Affinity", ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE)),
    ]
)

names = st.sampled_from(NAMES)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), names, st.integers(0, 2), st.booleans()),
        st.tuples(st.just("update"), names, st.integers(0, 2), st.booleans()),
        st.tuples(st.just("recreate"), names),
        st.tuples(st.just("delete"), names),
        st.tuples(st.just("pop"), st.integers(1, 3)),
        st.tuples(st.just("requeue"), names, st.frozensets(st.sampled_from(PLUGINS))),
        st.tuples(st.just("done"), names),
        st.tuples(st.just("move"), st.sampled_from([NODE_ADD, ASSIGNED_POD_DELETE])),
        st.tuples(st.just("activate"), names),
        st.tuples(st.just("advance"), st.sampled_from([0.1, 1.0, 15.0, 301.0])),
    ),
    max_size=80,
)


class World:
    """The queue beside what is known of its pods in the plainest way."""

    def __init__(self):
        self.clock = ManualClock()
        self.queue = SchedulingQueue(clock=self.clock, hints=HINTS, gate=lambda pod: "Gate" if pod.spec.gates else "")
        self.pods = {}
        """Pods that exist and have no node, by name."""
        self.flying = {}
        self.uids = 0

    def make(self, name, priority, *, gated, uid=None):
        if uid is None:
            self.uids += 1
            uid = str(self.uids)
        spec = PodSpec(priority=priority, gates=("wait",) if gated else ())
        return Pod(name=name, namespace="n", uid=uid, spec=spec)

    def add(self, name, priority, gated):
        if name not in self.pods:
            self.pods[name] = self.make(name, priority, gated=gated)
            self.queue.add(self.pods[name])

    def update(self, name, priority, gated):
        if old := self.pods.get(name):
            self.pods[name] = self.make(name, priority, gated=gated, uid=old.uid)
            self.queue.update(old, self.pods[name])

    def recreate(self, name):
        if name in self.pods:
            self.delete(name)
            self.add(name, 0, gated=False)

    def delete(self, name):
        self.pods.pop(name, None)
        self.queue.delete(f"n/{name}")

    def pop(self, most):
        batch = self.queue.pop_batch(most, threading.Event(), 0)
        assert len(batch) <= most
        for queued in batch:
            name = queued.pod.name
            assert name not in self.flying
            assert queued.pod == self.pods[name]
            self.flying[name] = queued
        order = [(-queued.priority, queued.queued_at) for queued in batch]
        assert order == sorted(order)

    def requeue(self, name, refused_by):
        if queued := self.flying.pop(name, None):
            where = self.queue.requeue(queued, refused_by)
            gone = self.pods.get(name) is None or self.pods[name].uid != queued.pod.uid
            assert (where == "") == gone
            if not gone:
                assert self.queue.get(f"n/{name}").attempts == queued.attempts

    def done(self, name):
        queued = self.flying.pop(name, None)
        if queued is not None:
            self.queue.done(queued.key)
            if name in self.pods and self.pods[name].uid == queued.pod.uid:
                del self.pods[name]  # bound: it has a node now
                self.queue.delete(queued.key)

    def move(self, event):
        self.queue.move_all(event)

    def activate(self, name):
        self.queue.activate([f"n/{name}"])

    def advance(self, seconds):
        self.clock.advance(seconds)

    def check(self):
        waiting = {name for name in NAMES if self.queue.get(f"n/{name}") is not None}
        assert waiting == set(self.pods) - set(self.flying)
        for name in waiting:
            assert self.queue.get(f"n/{name}").pod == self.pods[name]
        assert sum(self.queue.pending().values()) == len(waiting)
        assert self.queue.in_flight() == len(self.flying)
        if not self.flying:
            assert self.queue._flights.happenings == 0


@given(steps)
def test_each_pod_is_in_one_place(script):
    world = World()
    for name, *arguments in script:
        getattr(world, name)(*arguments)
        world.check()
    for name in list(world.flying):
        world.requeue(name, ())
    for name in list(world.pods):
        world.update(name, 0, gated=False)
    world.clock.advance(302)
    world.pop(100)
    assert set(world.flying) == set(world.pods)
    world.check()
