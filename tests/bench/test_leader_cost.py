"""What a pod costs a leader's interpreter, step by step, and a standby's: bytecodes, whatever else the machine does.

Instructions are counted by running it under valgrind (`--tool=callgrind`), which takes some minutes.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from component.tracing import otlpwire
from lockd.ports import KeyValue, PutReply, TxnReply
from replica.api import codec
from replica.events.term import TermEvents
from replica.handlers import Movers, PodHandler
from replica.term import TermWork
from replica.timed import Timed, pod_subject
from tests.harness import term
from tests.harness.bytecodes import Steps
from tests.harness.objects import node
from tests.harness.told import Told
from tests.harness.world import World
from tests.launchers import untraced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockd.ports import Txn
    from replica.api.pods import Pod

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LIMITS = {0.0: 0.02, 0.01: 0.05, 1.0: 0.60}
"""By the share of pods that are traced, what may come on top."""

FUNCTIONS = int(os.environ.get("FUNCTIONS", "0"))
NODES, WARM, BATCHES, BATCH = 1000, 3, 4, 64
ROOM = {"cpu": "32", "memory": "128Gi", "pods": 110}


def applied(txn: Txn, revision: int) -> TxnReply:
    inner = TxnReply(succeeded=True, revision=revision, replies=(PutReply(),))
    return TxnReply(succeeded=True, revision=revision, replies=tuple(inner for _ in txn.then))


class Etcd:
    """Takes transactions, and answers when it is told to."""

    def __init__(self) -> None:
        self.sent: list[tuple[Txn, Callable[[TxnReply], None]]] = []

    def send(self, txn: Txn, done: Any, **_: Any) -> Etcd:
        self.sent.append((txn, done))
        return self

    def cancel(self) -> None:
        return

    def answer(self) -> None:
        sent, self.sent = self.sent, []
        for txn, done in sent:
            done(applied(txn, 1_000_000))


class Replica:
    """The parts of one, on one thread, at the mercy of the test."""

    def __init__(self) -> None:
        self.world, self.etcd = World(), Etcd()
        self.world.replace(sender=self.etcd, settle=lambda txn, _stop: applied(txn, 1_000_000))
        for number in range(NODES):
            labels = {"topology.kubernetes.io/zone": f"z{number % 3}", "kubernetes.io/hostname": f"n{number}"}
            self.world.table.set_node(node(f"n{number}", allocatable=ROOM, labels=labels))
        parts, queue = self.world.parts, self.world.queue
        movers = Movers(queue, self.world.members, parts.profiles)
        handler = PodHandler(
            queue, self.world.assumed, self.world.waiting, parts.profiles, movers, budgets=self.world.budgets
        )
        self.handler: Timed[Pod] = Timed(handler, pod_subject, self.world.clock)
        self.stop = threading.Event()

    def tell(self, pods: Sequence[Pod]) -> None:
        for pod in pods:
            self.handler.on_add(pod, initial=False)

    def show(self, pods: Sequence[tuple[Pod, str]]) -> None:
        for pod, name in pods:
            self.handler.on_update(pod, pod.on(name, mod_revision=1_000_000, token=1))


def pods_of(batch: int) -> list[Pod]:
    """Of ReplicaSets of twenty: default constraints are for them."""
    found = []
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        app, name = f"web-{number // 20}", f"web-{number}"
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": f"rs-{app}", "controller": True}
        metadata = {"name": name, "uid": f"uid-{number}", "labels": {"app": app}, "ownerReferences": [owner]}
        requests = {"cpu": "100m", "memory": "128Mi"}
        spec = {"containers": [{"name": "main", "image": "app:1", "resources": {"requests": requests}}]}
        value = codec.encode(json.dumps({"metadata": metadata, "spec": spec}).encode())
        found.append(codec.decode_pod(KeyValue(term.pod_key(name), value, 10 + number, 10 + number)))
    return found


def of_a_leader() -> Steps:
    """From the first sight of a pod to its event."""
    replica = Replica()
    world = replica.world
    leadership = term.begin(world.etcd, world.clock)
    events = TermEvents(world.parts.lock.prefix, leadership.token)
    work = TermWork(world.parts, world.settings, leadership, world.scheduler._metrics, events)
    world.sink.lead(events, work._write_events)
    world.parts.stories.lead(leadership.traceparent, int(leadership.token), world.clock)
    waiting = world.sink._subscription

    def store() -> None:
        while len(waiting):
            world.sink.store(waiting.take(100, replica.stop, 0), replica.stop)

    def cycle(pods: Sequence[Pod], steps: Steps) -> None:
        steps.take("told of", lambda: replica.tell(pods))
        steps.take("placed", lambda: work._place(world.queue.pop_batch(BATCH, replica.stop, 0)))
        steps.take("sent", work._binder.step)
        replica.etcd.answer()
        steps.take("settled", work._binder.step)
        shown = [(pod, world.assumed.place_of(pod.uid)) for pod in pods]
        assert all(name for _, name in shown)
        steps.take("shown", lambda: replica.show(shown))
        steps.take("event", store)

    steps = Steps()
    for batch in range(WARM + BATCHES):
        cycle(pods_of(batch), Steps() if batch < WARM else steps)
    return steps


def test_a_leader_from_the_first_sight_of_a_pod_to_its_event() -> None:
    sys.stdout.write(of_a_leader().report("a leader", BATCHES * BATCH, functions=FUNCTIONS))


@pytest.mark.parametrize("share", list(LIMITS), ids=lambda share: f"{share:.0%} of pods traced")
def test_what_tracing_costs_a_leader(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a leader without a call of tracing; spans are told and encoded, and not sent."""
    with monkeypatch.context() as patch:
        untraced.plant(patch.setattr)
        of_a_leader()  # what is remembered from one pod to the next is so from here on
        without = of_a_leader().counts.total()
    ended = Told(monkeypatch, share=share).ended if share else []
    of_a_leader()
    ended.clear()
    steps = of_a_leader()
    counted = ended[len(ended) * WARM // (WARM + BATCHES) :]
    steps.take("encoded", lambda: otlpwire.request(counted))
    more = steps.counts.total() / without - 1
    sys.stdout.write(f"\n  {share:.0%} of pods traced: {more:+.1%} bytecodes, at most {LIMITS[share]:.0%}\n")
    assert more < LIMITS[share]


def test_a_standby() -> None:
    replica, steps = Replica(), Steps()
    for batch in range(WARM + BATCHES):
        pods, counted = pods_of(batch), Steps() if batch < WARM else steps
        counted.take("told of", lambda pods=pods: replica.tell(pods))
        shown = [(pod, f"n{number}") for number, pod in enumerate(pods)]
        counted.take("shown", lambda shown=shown: replica.show(shown))
    sys.stdout.write(steps.report("a standby", BATCHES * BATCH, functions=FUNCTIONS))
