"""`scheduler_pending_pods` says at any moment where the pods wait: against a plain reading of the rules, drawn."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from replica.api.pods import Pod
from replica.api.podspec import PodSpec
from replica.queue.hints import (
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    Action,
    ClusterEvent,
    Hint,
    Hints,
    Registration,
    Resource,
)
from replica.queue.scheduling import MAXIMUM_BACKOFF, UNSCHEDULABLE_SECONDS, SchedulingQueue
from tests.harness.clock import ManualClock

NAMES = "abcd"
HELPED_BY = {
    "Fit": {ASSIGNED_POD_DELETE},
    "Affinity": {NODE_ADD},
    "Picky": set(),
    "Silent": {NODE_ADD, ASSIGNED_POD_DELETE},
}
"""Which event helps a pod that this plugin refused. Silent asks for nothing, and so is helped by all."""
GATE = "Gate"
HINTS = Hints.of(
    [
        Registration("Fit", ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)),
        Registration("Affinity", ClusterEvent(Resource.NODE, Action.ADD)),
        Registration("Picky", ClusterEvent(Resource.ANY, Action.ALL), lambda *_: Hint.SKIP),
    ]
)
EVENTS = st.sampled_from([NODE_ADD, ASSIGNED_POD_DELETE])


@dataclass
class Waiting:
    """One pod, as somebody would keep it on paper."""

    pod: Pod
    place: str = ""
    until: float = 0.0
    parked: float = 0.0
    refused_by: frozenset = frozenset()
    attempts: int = 0
    seen: list = field(default_factory=list)
    """In flight: the events since it was popped."""


class Paper:
    """The rules of the queue, one pod after the other."""

    def __init__(self):
        self.now = 0.0
        self.pods = {}

    def put(self, it):
        it.place = "gated" if it.pod.spec.gates else "backoff" if it.until > self.now else "active"

    def helps(self, event, it):
        return not it.refused_by or any(event in HELPED_BY[plugin] for plugin in it.refused_by)

    def pass_time(self, seconds):
        self.now += seconds
        for it in self.pods.values():
            over = it.place == "backoff" and it.until <= self.now
            if over or (it.place == "unschedulable" and it.parked + UNSCHEDULABLE_SECONDS <= self.now):
                self.put(it)

    def happens(self, event):
        for it in self.pods.values():
            if it.place == "flying":
                it.seen.append(event)
            elif it.place == "unschedulable" and self.helps(event, it):
                self.put(it)

    def back(self, it, refused_by):
        it.refused_by = refused_by
        it.until = self.now + min(2.0 ** (it.attempts - 1), MAXIMUM_BACKOFF)
        if not refused_by or any(self.helps(event, it) for event in it.seen):
            self.put(it)
        else:
            it.place, it.parked = "unschedulable", self.now

    def sizes(self):
        found = Counter(it.place for it in self.pods.values())
        return {place: found[place] for place in ("active", "backoff", "unschedulable", "gated")}

    def refusals(self):
        found = Counter()
        for it in self.pods.values():
            if it.place != "flying":
                plugins = set(it.refused_by) | ({GATE} if it.place == "gated" else set())
                found.update((plugin, it.pod.spec.scheduler) for plugin in plugins)
        return found


class Both:
    """The queue and the paper."""

    def __init__(self):
        self.clock = ManualClock()
        self.paper = Paper()
        self.queue = SchedulingQueue(clock=self.clock, hints=HINTS, gate=lambda pod: GATE if pod.spec.gates else "")
        self.popped = {}

    def add(self, name, gated):
        if name not in self.paper.pods:
            pod = Pod(name=name, namespace="n", uid=name, spec=PodSpec(gates=("wait",) if gated else ()))
            it = self.paper.pods[name] = Waiting(pod)
            self.paper.put(it)
            self.queue.add(pod)

    def open_gate(self, name):
        it = self.paper.pods.get(name)
        if it is not None and it.place == "gated":
            old, it.pod = it.pod, Pod(name=name, namespace="n", uid=name)
            self.paper.put(it)
            self.queue.update(old, it.pod)

    def delete(self, name):
        it = self.paper.pods.get(name)
        if it is not None and it.place != "flying":
            del self.paper.pods[name]
            self.queue.delete(f"n/{name}")

    def pop(self, most):
        for queued in self.queue.pop_batch(most, threading.Event(), 0):
            it = self.paper.pods[queued.pod.name]
            assert it.place == "active"
            it.place, it.attempts, it.seen = "flying", it.attempts + 1, []
            self.popped[queued.pod.name] = queued

    def requeue(self, name, refused_by):
        if queued := self.popped.pop(name, None):
            self.paper.back(self.paper.pods[name], refused_by)
            self.queue.requeue(queued, refused_by)

    def done(self, name):
        if queued := self.popped.pop(name, None):
            del self.paper.pods[name]
            self.queue.done(queued.key)

    def activate(self, name):
        it = self.paper.pods.get(name)
        if it is not None and it.place in {"backoff", "unschedulable"}:
            it.until = 0.0
            self.paper.put(it)
            self.queue.activate([f"n/{name}"])

    def happens(self, event):
        self.paper.happens(event)
        self.queue.move_all(event)

    def pass_time(self, seconds):
        self.paper.pass_time(seconds)
        self.clock.advance(seconds)


names = st.sampled_from(NAMES)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), names, st.booleans()),
        st.tuples(st.just("open_gate"), names),
        st.tuples(st.just("delete"), names),
        st.tuples(st.just("pop"), st.integers(1, 3)),
        st.tuples(st.just("requeue"), names, st.frozensets(st.sampled_from(sorted(HELPED_BY)), max_size=2)),
        st.tuples(st.just("done"), names),
        st.tuples(st.just("activate"), names),
        st.tuples(st.just("happens"), EVENTS),
        st.tuples(st.just("pass_time"), st.sampled_from([0.5, 1.0, 3.0, 11.0, 150.0, 301.0])),
    ),
    max_size=60,
)


@given(steps)
def test_the_metric_agrees_with_the_queue(script):
    both = Both()
    for name, *arguments in script:
        getattr(both, name)(*arguments)
        assert both.queue.pending() == both.paper.sizes()
        assert +Counter(both.queue.refusals()) == Counter(both.paper.refusals())
        for pod, it in both.paper.pods.items():
            assert (both.queue.get(f"n/{pod}") is None) == (it.place == "flying")
