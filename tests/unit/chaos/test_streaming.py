from __future__ import annotations

import logging
import threading

import pytest

from chaos.streaming import CHUNK, Stream
from lockd.errors import PermissionDenied, Unavailable
from lockd.ports import Put, Txn
from replica.api.codec import decode_pod
from replica.api.keys import kind_prefix
from replica.api.kinds import NODE, POD
from tests.harness.clock import ManualClock
from tests.harness.memory_gateway import MemoryGateway
from tests.harness.stored import pod_value

PREFIX = "/lockd"


class Hasty(ManualClock):
    """Waits in no time."""

    def wait(self, stop, seconds):
        self.advance(seconds)
        return stop.is_set()


class Cluster:
    """An etcd in memory, a stream, and what stops it after so many transactions."""

    def __init__(self, **settings):
        self.gateway = MemoryGateway()
        self.clock = Hasty()
        self.stop = threading.Event()
        settings = {"name": "a", "nodes": 2, "rate": 4.0, "keep": 10, **settings}
        self.stream = Stream(self.gateway, PREFIX, clock=self.clock, **settings)

    def run(self, *, until, before=lambda: None):
        """Go on until so many transactions were sent; `before` each of them something else happens."""

        def sending(_):
            before()
            if len(self.gateway.sent) >= until:
                self.stop.set()

        self.gateway.before = sending
        self.stream.run(self.stop)

    def bind(self):
        """A scheduler binds all pods that there are."""
        for kv in self.stored(POD):
            if not decode_pod(kv).node:
                put = Put(kv.key, pod_value(kv.key.rpartition("/")[2], node="node-000"))
                self.gateway.space, _ = self.gateway.space.apply(Txn((), (put,)))

    def stored(self, kind):
        return self.gateway.list(kind_prefix(PREFIX, kind), timeout=1.0).kvs

    def names(self, kind):
        return [kv.key.rpartition("/")[2] for kv in self.stored(kind)]


def test_nodes_come_first_and_pods_after_them_at_the_rate():
    cluster = Cluster()
    began = cluster.clock.now()
    cluster.run(until=6)
    assert cluster.names(NODE) == ["node-000", "node-001"]
    assert cluster.names(POD) == ["pod-000000-a", "pod-000001-a", "pod-000002-a", "pod-000003-a"]
    assert cluster.clock.now() - began == 4 / 4.0


def test_a_second_stream_leaves_the_first_ones_pods_alone():
    cluster = Cluster()
    cluster.run(until=4)
    cluster.stop.clear()
    cluster.stream = Stream(cluster.gateway, PREFIX, name="b", nodes=2, rate=4.0, keep=10, clock=cluster.clock)
    cluster.run(until=8)
    assert cluster.names(POD) == ["pod-000000-a", "pod-000000-b", "pod-000001-a", "pod-000001-b"]


def test_the_oldest_bound_pods_go():
    cluster = Cluster()
    cluster.run(until=2 + CHUNK + 1, before=cluster.bind)
    newest = [f"pod-{number:06}-a" for number in range(CHUNK)][-11:]  # ten bound ones, and one that isn't yet
    assert cluster.names(POD) == newest


def test_pods_that_wait_for_a_node_stay():
    cluster = Cluster()
    cluster.run(until=2 + CHUNK + 1)
    assert len(cluster.names(POD)) == CHUNK + 1


def test_a_write_that_is_not_taken_is_tried_again_and_told_once(caplog):
    caplog.set_level(logging.INFO)
    cluster = Cluster()
    failures = iter([Unavailable("no leader"), Unavailable("no leader")])

    def fail():
        if len(cluster.gateway.sent) > 3 and (failure := next(failures, None)) is not None:
            raise failure

    cluster.run(until=8, before=fail)
    assert cluster.names(POD)[:3] == ["pod-000000-a", "pod-000001-a", "pod-000002-a"]
    told = [line for line in caplog.messages if line.startswith("etcd takes")]
    assert told == ["etcd takes no pods", "etcd takes pods again"]


def test_one_that_may_not_write_gives_up():
    cluster = Cluster()

    def refuse():
        raise PermissionDenied("not this prefix")

    with pytest.raises(PermissionDenied):
        cluster.run(until=8, before=refuse)
