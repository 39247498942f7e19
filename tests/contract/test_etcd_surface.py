"""What the caches and the sink ask of etcd, asked of the one in memory and of a real one alike."""

from __future__ import annotations

import threading
import uuid

import pytest

from lockd.errors import Compacted, LeaseNotFound, Rejected
from lockd.etcd.embedded import Embedded
from lockd.etcd.model import WatchBatch, WatchCompacted, WatchTarget
from lockd.ports import (
    Compare,
    Delete,
    DeleteReply,
    Field,
    Get,
    GetReply,
    Put,
    PutReply,
    Txn,
    TxnReply,
)
from tests.harness.etcd import opened
from tests.harness.fake_etcd import FakeEtcd
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

WITHIN = 5.0


@pytest.fixture(scope="module")
def own_etcd():
    """One of this module's own: it compacts, which others would notice."""
    with Embedded.start() as cluster:
        yield cluster


@pytest.fixture(params=["memory", "etcd"])
def store(request):
    """An etcd, and a prefix that nobody else uses."""
    if request.param == "memory":
        yield FakeEtcd(), "/k"
        return
    cluster = request.getfixturevalue("own_etcd")
    with opened(cluster.connection) as gateway:
        yield gateway, f"/test-{uuid.uuid4().hex[:12]}"


class Sink:
    """Notes what a watch brings."""

    def __init__(self):
        self.items = []
        self.lock = threading.Lock()

    def __call__(self, item):
        with self.lock:
            self.items.append(item)

    @property
    def events(self):
        with self.lock:
            return [
                (event.key, event.value, event.mod_revision)
                for item in self.items
                if isinstance(item, WatchBatch)
                for event in item.events
            ]

    @property
    def compacted(self):
        with self.lock:
            return [item for item in self.items if isinstance(item, WatchCompacted)]


def put(etcd, key, value):
    return etcd.txn(Txn((), (Put(key, value),)), timeout=WITHIN).revision


def test_a_key_has_the_revisions_of_its_writes(store):
    etcd, prefix = store
    first = put(etcd, f"{prefix}/a", b"1")
    second = put(etcd, f"{prefix}/a", b"2")
    assert second == first + 1
    reply = etcd.range(f"{prefix}/a", timeout=WITHIN)
    (kv,) = reply.kvs
    assert (kv.value, kv.create_revision, kv.mod_revision, kv.version) == (b"2", first, second, 2)
    assert reply.revision == second
    assert etcd.range(f"{prefix}/", timeout=WITHIN).kvs == ()


def test_a_list_is_sorted_and_may_be_of_the_past_and_without_values(store):
    etcd, prefix = store
    for name in "cab":
        last = put(etcd, f"{prefix}/{name}", name.encode())
    etcd.txn(Txn((), (Delete(f"{prefix}/a"),)), timeout=WITHIN)
    now = etcd.list(f"{prefix}/", page=1, timeout=WITHIN)
    assert [kv.key[-1] for kv in now.kvs] == ["b", "c"]
    past = etcd.list(f"{prefix}/", page=2, revision=last, keys_only=True, timeout=WITHIN)
    assert [(kv.key[-1], kv.value) for kv in past.kvs] == [("a", b""), ("b", b""), ("c", b"")]
    assert (now.revision, past.revision) == (last + 1, last)
    limited = etcd.range(f"{prefix}/", prefix=True, limit=1, keys_only=True, timeout=WITHIN)
    assert (len(limited.kvs), limited.more, limited.count, limited.revision) == (1, True, 2, last + 1)


def test_a_transaction_takes_one_branch(store):
    etcd, prefix = store
    key = f"{prefix}/a"
    absent = (Compare(key, Field.MOD, 0), Compare(key, Field.CREATE, 0))
    create = Txn(absent, (Put(key, b"1"),), (Get(key),))
    first = etcd.txn(create, timeout=WITHIN)
    assert (first.succeeded, first.replies) == (True, (PutReply(),))
    second = etcd.txn(create, timeout=WITHIN)
    assert (second.succeeded, second.revision) == (False, first.revision)
    (found,) = second.replies
    assert found.kv.mod_revision == first.revision
    gone = etcd.txn(Txn((Compare(key, Field.VALUE, b"1"),), (Delete(key), Get(key))), timeout=WITHIN)
    assert gone.replies == (DeleteReply(1), GetReply(None))
    assert not etcd.txn(Txn((Compare(key, Field.VALUE, b""),), ()), timeout=WITHIN).succeeded


def test_nested_compares_see_what_was_before_the_transaction(store):
    etcd, prefix = store
    a, b = f"{prefix}/a", f"{prefix}/b"
    revision = put(etcd, a, b"old")
    nested = Txn((Compare(a, Field.MOD, revision),), (Put(b, b"1"),), (Get(a),))
    refused = Txn((Compare(b, Field.MOD, 1),), (Put(f"{prefix}/c", b"1"),), (Get(b),))
    reply = etcd.txn(Txn((), (Put(a, b"new"), nested, refused)), timeout=WITHIN)
    _, inner, outer = reply.replies
    assert isinstance(inner, TxnReply)
    assert isinstance(outer, TxnReply)
    assert (inner.succeeded, outer.succeeded) == (True, False)
    assert outer.replies[0].kv.value == b"1"  # a read sees what was put before it
    again = etcd.txn(Txn((), (nested,)), timeout=WITHIN)
    assert again.replies[0].replies[0].kv.value == b"new"
    assert again.revision == reply.revision  # nothing was written


def test_a_key_is_put_once_in_a_transaction(store):
    etcd, prefix = store
    key = f"{prefix}/a"
    with pytest.raises(Rejected):
        etcd.txn(Txn((), (Put(key, b"1"), Txn((), (Put(key, b"2"),)))), timeout=WITHIN)
    assert etcd.range(key, timeout=WITHIN).kvs == ()


def test_a_put_with_a_lease_that_is_gone_fails_its_whole_transaction(store):
    etcd, prefix = store
    with pytest.raises(LeaseNotFound):
        etcd.txn(Txn((), (Put(f"{prefix}/a", b"1"), Put(f"{prefix}/b", b"1", lease=987654321))), timeout=WITHIN)
    assert etcd.list(f"{prefix}/", timeout=WITHIN).kvs == ()
    lease = etcd.lease_grant(60, timeout=WITHIN)
    etcd.txn(Txn((), (Put(f"{prefix}/b", b"1", lease=lease),)), timeout=WITHIN)
    assert etcd.range(f"{prefix}/b", timeout=WITHIN).kvs[0].lease == lease
    etcd.lease_revoke(lease, timeout=WITHIN)
    assert etcd.list(f"{prefix}/", timeout=WITHIN).kvs == ()


def test_a_watch_brings_the_past_from_its_start_and_then_what_comes(store):
    etcd, prefix = store
    put(etcd, f"{prefix}/before", b"0")
    start = put(etcd, f"{prefix}/a", b"1")
    sink = Sink()
    watch = etcd.watch((WatchTarget(f"{prefix}/", prefix=True, start_revision=start),), sink)
    eventually(lambda: sink.events == [(f"{prefix}/a", b"1", start)], within=30)
    both = etcd.txn(Txn((), (Put(f"{prefix}/b", b"2"), Delete(f"{prefix}/a"))), timeout=WITHIN).revision
    put(etcd, f"{prefix}elsewhere", b"3")
    last = put(etcd, f"{prefix}/b", b"4")
    eventually(lambda: len(sink.events) == 4, within=30)
    assert sorted(sink.events[1:3]) == [(f"{prefix}/a", None, both), (f"{prefix}/b", b"2", both)]
    assert sink.events[3] == (f"{prefix}/b", b"4", last)
    batches = [item for item in sink.items if isinstance(item, WatchBatch)]
    assert [batch.revision for batch in batches] == [batch.events[-1].mod_revision for batch in batches]
    watch.close()


def test_a_watch_of_what_is_forgotten_says_so(store):
    etcd, prefix = store
    first = put(etcd, f"{prefix}/a", b"1")
    last = put(etcd, f"{prefix}/a", b"2")
    etcd.compact(last, timeout=WITHIN)
    sink = Sink()
    watch = etcd.watch((WatchTarget(f"{prefix}/", prefix=True, start_revision=first),), sink)
    eventually(lambda: sink.compacted, within=30)
    assert sink.compacted[0].compact_revision >= last
    watch.close()
    with pytest.raises(Compacted):
        etcd.list(f"{prefix}/", revision=first, timeout=WITHIN)
    assert etcd.list(f"{prefix}/", revision=last, timeout=WITHIN).kvs[0].value == b"2"
    exact = Sink()
    watch = etcd.watch((WatchTarget(f"{prefix}/", prefix=True, start_revision=last),), exact)
    eventually(lambda: exact.events == [(f"{prefix}/a", b"2", last)], within=30)
    watch.close()
