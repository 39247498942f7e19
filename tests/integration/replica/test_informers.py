"""The caches on a real etcd whose members die, stop, fall out of reach and forget."""

from __future__ import annotations

import itertools
import threading
from contextlib import ExitStack

import pytest

from component.lifecycle import Group
from lockd.errors import StoreError
from lockd.etcd.embedded import Embedded
from lockd.fencing import Guard, GuardedWrite, ObjectWrite, Token
from lockd.ports import Compare, Delete, Field, Get, Put, Txn
from replica.api.codec import bound, decode_pod
from replica.api.kinds import NODE, POD
from replica.cache.informers import Informers
from tests.harness.etcd import heal, opened, programs, version
from tests.harness.proxy import Proxies
from tests.harness.stored import node_value, pod_value
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

STOP = threading.Event()
numbers = itertools.count(1)


class Record:
    """A handler that notes what it is told, by key."""

    def __init__(self):
        self.revisions = {}
        self.stale = []

    def on_add(self, obj, *, initial):
        self.revisions.setdefault(obj.path, []).append(obj.mod_revision)

    def on_update(self, old, new):
        self.revisions[new.path].append(new.mod_revision)

    def on_delete(self, obj, *, stale):
        if stale:
            self.stale.append(obj.path)


class Rig:
    """Informers on one gateway, and another gateway that writes behind their back."""

    def __init__(self, cluster, gateway, writer, group):
        self.prefix = f"/test-{next(numbers)}"
        self.cluster = cluster
        self.gateway = gateway
        self.writer = writer
        self.group = group
        self.informers = Informers(gateway, self.prefix, group=group, kinds=(POD, NODE))
        self.record = Record()
        self.informers.pods.add_handler(self.record, name="record", barrier=True)

    def key(self, name):
        return f"{self.prefix}/pods/default/{name}"

    def put(self, name, **fields):
        return self._write(Put(self.key(name), pod_value(name, **fields)))

    def put_node(self, name):
        return self._write(Put(f"{self.prefix}/nodes/{name}", node_value(name)))

    def delete(self, name):
        return self._write(Delete(self.key(name)))

    def synced(self):
        self.informers.start()
        assert self.informers.wait_for_sync(STOP, 30)
        return self

    def passes(self, revision, within=30):
        assert self.informers.barrier.wait(revision, STOP, within), self.informers.barrier.behind(revision)

    def cached(self):
        return {pod.path: (pod.mod_revision, pod.node) for pod in self.informers.pods.lister.list()}

    def fresh(self):
        listing = self.writer.list(f"{self.prefix}/pods/", timeout=10)
        return {pod.path: (pod.mod_revision, pod.node) for pod in map(decode_pod, listing.kvs)}

    def _write(self, op):
        """Writes once: a stopped member may apply what it holds when it goes on, long after another copy was.

        Each copy therefore asks for the key as it was before the first; what a copy that fails finds is an earlier one.
        """
        before = eventually(lambda: self._try(Txn((), (Get(op.key),))), within=20).replies[0].kv
        same = Compare(op.key, Field.MOD, before.mod_revision if before else 0)
        reply = eventually(lambda: self._try(Txn((same,), (op,), (Get(op.key),))), within=20)
        found = None if reply.succeeded else reply.replies[0].kv
        return found.mod_revision if found else reply.revision

    def _try(self, txn):
        try:
            return self.writer.txn(txn, timeout=2, copy=next(numbers))
        except StoreError:
            return None


@pytest.fixture
def make():
    """Makes a rig on a cluster, seen through a connection, and takes it down in the end."""
    with ExitStack() as stack:

        def made(cluster, connection=None):
            gateway = stack.enter_context(opened(connection or cluster.connection, first=0))
            writer = stack.enter_context(opened(cluster.connection, first=1))
            group = Group("test")
            rig = Rig(cluster, gateway, writer, group)

            def end():
                group.request_stop()
                rig.informers.close()
                assert group.join(30) == ()
                assert group.failure is None

            stack.callback(end)
            return rig

        yield made


@pytest.mark.parametrize("etcd", programs(), ids=version)
def test_history_compacted_under_the_watch_is_listed_anew(etcd, make):
    with Embedded.start(etcd=etcd, auto_compaction=False) as cluster, Proxies(cluster) as proxies:
        rig = make(cluster, proxies.connection)
        rig.put_node("n")
        for name in ("stays", "changes", "goes"):
            rig.put(name)
        rig.synced()
        proxies.each[0].refuse()
        eventually(rig.informers.problem, within=30, what="degraded")
        assert len(rig.cached()) == 3  # readers go on
        rig.put("changes", node="n")
        rig.delete("goes")
        rig.put("comes")
        head = rig.put_node("n")
        rig.writer.compact(head, timeout=5)
        proxies.heal()
        rig.passes(head)
        assert rig.informers.hub.lists == 2
        assert rig.cached() == rig.fresh()
        assert rig.record.stale == ["default/goes"]
        after = rig.put("after")
        rig.passes(after)
        assert rig.cached() == rig.fresh()
        eventually(lambda: rig.informers.problem() is None, within=30)


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_a_member_lost_under_the_watch_costs_no_event(trio, make, fault):
    rig = make(trio).synced()
    rig.passes(rig.put("first"))
    member = trio.members[0]  # the one that the informers' gateway prefers
    try:
        getattr(member, fault)()
        last = 0
        for number in range(30):
            last = rig.put(f"p{number % 10}", cpu=f"{number + 1}m")
        rig.passes(last)
    finally:
        heal(trio)
    assert rig.cached() == rig.fresh()
    assert rig.informers.hub.lists == 1
    for revisions in rig.record.revisions.values():
        assert revisions == sorted(set(revisions))
    assert sum(map(len, rig.record.revisions.values())) == 31


def test_a_barrier_behind_a_silent_member_opens_by_way_of_another(trio, make):
    rig = make(trio).synced()
    rig.passes(rig.put("first"))
    member = trio.members[0]
    try:
        member.pause()
        token = rig.put("bound", node="n")
        assert rig.informers.wait_for(token, STOP, reopen_after=0.2, timeout=30)
    finally:
        heal(trio)
    assert rig.informers.pods.lister.get("bound", "default").node == "n"


def test_quorum_lost_and_back_is_a_state(trio, make):
    rig = make(trio).synced()
    rig.passes(rig.put("first"))
    try:
        for member in trio.members[:2]:
            member.pause()
        assert "degraded" in eventually(rig.informers.problem, within=30)
        assert rig.informers.pods.lister.get("first", "default")
    finally:
        heal(trio)
    rig.passes(rig.put("second"))
    eventually(lambda: rig.informers.problem() is None, within=30)
    assert rig.cached() == rig.fresh()


def test_an_own_bind_that_comes_back_is_not_decoded(trio, make):
    rig = make(trio)
    rig.put("a")
    rig.put("b")
    term = f"{rig.prefix}/terms/kube-system/kube-scheduler"
    token = rig.writer.txn(Txn((), (Put(term, b"mine"),)), timeout=5).revision
    rig.synced()
    reflector = rig.informers.pods.reflector
    writes = []
    for name in ("a", "b"):
        pod = rig.informers.pods.lister.get(name, "default")
        value = bound(pod.value, "n", token, at="2030-01-01T00:00:00Z")
        reflector.expect(rig.key(name), value, pod.on("n", token=token))
        writes.append(ObjectWrite(rig.key(name), pod.mod_revision, value))
    decoded = reflector.decoded
    guarded = GuardedWrite.of(Guard(term, Token(token), b"mine"), writes)
    reply = guarded.judge(rig.writer.txn(guarded.txn(), timeout=5))
    rig.passes(reply.revision)
    assert (reflector.recognised, reflector.decoded) == (2, decoded)
    assert rig.cached() == rig.fresh() == {f"default/{name}": (reply.revision, "n") for name in ("a", "b")}
    for pod in rig.informers.pods.lister.list():
        assert pod == decode_pod(rig.writer.range(rig.key(pod.name), timeout=5).kvs[0])


def test_opening_and_closing_leaves_no_thread_behind(trio):
    def once():
        group = Group("test")
        with opened(trio.connection) as gateway:
            informers = Informers(gateway, f"/test-{next(numbers)}", group=group)
            informers.pods.add_handler(Record(), name="record", barrier=True)
            informers.start()
            assert informers.wait_for_sync(STOP, 30)
            group.request_stop()
            informers.close()
            assert group.join(30) == ()

    once()
    before = threading.active_count()
    for _ in range(10):
        once()
    eventually(lambda: threading.active_count() <= before, within=30, what="no more threads than before")
