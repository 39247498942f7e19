"""What a pod costs the interpreter of a replica that reads of it, from the watch's responses to the books.

A pod comes twice: created, and with its node. A leader knows the second already, a standby doesn't. Counted are
bytecodes, which are the same whatever else the machine does; `FUNCTIONS=20` in the environment names the functions that
have the most.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
from collections import deque
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from component.clock import SystemClock
from component.lifecycle import Group
from lockd.etcd import wire
from lockd.etcd.cursor import Cursor
from lockd.etcd.model import Listing, WatchTarget, encode_key
from lockd.etcd.stream import Pace, Stream
from lockd.etcd.witness import Witness
from replica.api import codec
from replica.cache.informers import READ, Informers
from replica.handlers import Movers, PodHandler
from replica.timed import Timed, pod_subject
from tests.harness import term
from tests.harness.bytecodes import Steps
from tests.harness.objects import node
from tests.harness.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lockd.etcd.model import WatchItem

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

NODES, WARM, BATCHES, BATCH = 1000, 3, 4, 100
ROOM = {"cpu": "32", "memory": "128Gi", "pods": 110}
AT = "2030-01-01T00:00:00Z"
TOKEN = 7


class Feed:
    """An etcd whose watch says what it is told to, on the thread of whoever reads it."""

    def __init__(self) -> None:
        self.raw: deque[bytes] = deque()
        self.sink: Callable[[WatchItem], None] = lambda _: None
        caller: Any = SimpleNamespace(
            clock=SystemClock(), witness=Witness(), channels=SimpleNamespace(stream=lambda *_: self._stream)
        )
        stream = Stream(caller, "here", Pace(), stopping=lambda: False, renewed=False)
        self._frames = stream.frames()

    def _stream(self, _requests: object, **_: object) -> Iterator[Any]:
        while True:
            yield wire.WatchResponse.FromString(self.raw.popleft())

    def list(self, _prefix: str, **_: Any) -> Listing:
        return Listing((), 1)

    def watch(self, targets: Sequence[WatchTarget], sink: Callable[[WatchItem], None]) -> Any:
        self._cursor, self.sink = Cursor(targets), sink
        self._id = self._cursor.open()[0].watch_id
        created = wire.WatchResponse(watch_id=self._id, created=True)
        self.say(created.SerializeToString())
        self.read()
        return self

    def say(self, raw: bytes) -> None:
        self.raw.append(raw)

    def read(self) -> None:
        for outcome in self._cursor.take(next(self._frames), ordered=False):
            self.sink(outcome)

    def response(self, changes: Sequence[tuple[str, bytes]], revision: int, created_at: Sequence[int]) -> bytes:
        found = wire.WatchResponse(watch_id=self._id)
        found.header.cluster_id, found.header.revision = 5, revision
        for (key, value), created in zip(changes, created_at, strict=True):
            kv = found.events.add().kv
            kv.key, kv.value, kv.mod_revision, kv.create_revision, kv.version = (
                encode_key(key),
                value,
                revision,
                created,
                1,
            )
        return found.SerializeToString()

    def cancel(self) -> None:
        return

    def close(self, seconds: float = 0) -> bool:
        return True

    reopen = cancel


class Replica:
    """What of one follows the watch, on one thread."""

    def __init__(self) -> None:
        self.feed, self.world = Feed(), World()
        world = self.world
        for number in range(NODES):
            labels = {"topology.kubernetes.io/zone": f"z{number % 3}", "kubernetes.io/hostname": f"n{number}"}
            world.table.set_node(node(f"n{number}", allocatable=ROOM, labels=labels))
        feed: Any = self.feed
        self.informers = Informers(feed, term.PREFIX, group=Group("bench"))
        parts = world.parts
        movers = Movers(world.queue, world.members, parts.profiles)
        handler = PodHandler(world.queue, world.assumed, world.waiting, parts.profiles, movers, budgets=world.budgets)
        timed = Timed(handler, pod_subject, world.clock)
        self.listener = self.informers.pods.add_handler(timed, name="scheduler", barrier=True)
        self.hub, self.stop = self.informers.hub, threading.Event()
        self.hub._list(self.stop)
        target = WatchTarget(self.hub._base, prefix=True, start_revision=2)
        feed.watch((target,), self.hub._inbox.open())
        self.work(Steps())
        self.revisions = itertools.count(10)

    def work(self, steps: Steps) -> None:
        """Take in what waits: the hub, the informer, the listener."""
        self.informers.hub._pace = Unhurried()  # type: ignore[assignment]  # it would sleep
        while self.feed.raw:
            steps.take("read", self.feed.read)
        steps.take("hub", lambda: self.hub._step(self.stop))
        steps.take("informer", self._inform)
        steps.take("listener", self._listen)

    def _inform(self) -> None:
        for kind in READ:
            self.informers.informer(kind).step(self.stop, 0)

    def _listen(self) -> None:
        if len(self.listener):
            self.listener.run(OneRound(self.listener))  # type: ignore[arg-type]


class Unhurried:
    def delay(self, _now: float) -> float:
        return 0.0


class OneRound:
    """A stop event for a listener that has nothing left."""

    def __init__(self, listener: Any) -> None:
        self._listener = listener

    def is_set(self) -> bool:
        return bool(self._listener._resting)


def changes(batch: int) -> list[tuple[str, bytes]]:
    """Of ReplicaSets of twenty."""
    found = []
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        app, name = f"web-{number // 20}", f"web-{number}"
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": f"rs-{app}", "controller": True}
        metadata = {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{number}",
            "creationTimestamp": AT,
            "labels": {"app": app},
            "ownerReferences": [owner],
        }
        requests = {"cpu": "100m", "memory": "128Mi"}
        spec = {"containers": [{"name": "main", "image": "app:1", "resources": {"requests": requests}}]}
        found.append((term.pod_key(name), codec.encode(json.dumps({"metadata": metadata, "spec": spec}).encode())))
    return found


@pytest.mark.parametrize("role", ["standby", "leader"])
def test_a_pod_that_is_created_and_bound(role: str) -> None:
    replica, steps = Replica(), {"created": Steps(), "bound": Steps()}
    for batch in range(WARM + BATCHES):
        counted = steps if batch >= WARM else {"created": Steps(), "bound": Steps()}
        pods = changes(batch)
        created = next(replica.revisions)
        replica.feed.say(replica.feed.response(pods, created, [created] * BATCH))
        replica.work(counted["created"])
        bound = [(key, codec.bound(value, f"n{number}", TOKEN, at=AT)) for number, (key, value) in enumerate(pods)]
        if role == "leader":
            for number, (key, value) in enumerate(bound):
                pod = replica.informers.pods.indexer.get(key.split("/pods/")[1])
                replica.informers.pods.reflector.expect(key, value, pod.on(f"n{number}", token=TOKEN))
                replica.world.assumed.assume(pod, f"n{number}")
        replica.feed.say(replica.feed.response(bound, next(replica.revisions), [created] * BATCH))
        replica.work(counted["bound"])
    informer = replica.informers.pods
    assert len(informer.indexer) == BATCH * (WARM + BATCHES)
    assert all(pod.node for pod in informer.indexer.values())
    assert replica.world.assumed.counts() == (BATCH * (WARM + BATCHES), 0)
    assert replica.informers.barrier.applied >= replica.hub.applied > 10
    functions = int(os.environ.get("FUNCTIONS", "0"))
    for what, each in steps.items():
        sys.stdout.write(each.report(f"a {role}, of a pod {what}", BATCHES * BATCH, functions=functions))
