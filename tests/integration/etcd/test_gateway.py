"""The gateway on a real etcd, of each version there is."""

from __future__ import annotations

import queue
import threading
from collections import deque
from functools import partial

import pytest

from component.clock import SystemClock
from lockd.errors import Compacted, LeaseNotFound, NoSpace, Rejected, TooLarge, Unavailable
from lockd.etcd.connection import Connection
from lockd.etcd.embedded import Embedded
from lockd.etcd.gateway import Gateway
from lockd.etcd.loopback import free_ports
from lockd.etcd.maintenance import Alarm, Maintenance
from lockd.etcd.model import WatchTarget
from lockd.etcd.retry import settle
from lockd.etcd.witness import Witness
from lockd.flags import kubernetes_key
from lockd.ports import Compare, Delete, DeleteReply, Field, Get, GetReply, Put, PutReply, Txn, TxnReply
from tests.harness.etcd import QUICK, opened
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd


@pytest.fixture
def gateway(each_etcd):
    with opened(each_etcd.connection) as gateway:
        yield gateway


def put(gateway, key, value=b"v", **fields):
    return gateway.txn(Txn((), (Put(key, value, **fields),)), timeout=5.0).revision


def test_a_transaction_takes_either_branch(gateway, prefix):
    key, other = f"{prefix}/a", f"{prefix}/b"
    create = Txn((Compare(key, Field.MOD, 0),), (Put(key, b"1"), Delete(other)), (Get(key), Get(other)))
    first = gateway.txn(create, timeout=5.0)
    assert first == TxnReply(True, first.revision, (PutReply(), DeleteReply(0)))
    second = gateway.txn(create, timeout=5.0)
    found, absent = second.replies
    assert (second.succeeded, second.revision) == (False, first.revision)
    assert (found.kv.key, found.kv.value, found.kv.mod_revision) == (key, b"1", first.revision)
    assert absent == GetReply(None)


@pytest.mark.parametrize(
    ("field", "operand", "holds"),
    [
        (Field.MOD, "mod", True),
        (Field.MOD, 1, False),
        (Field.CREATE, "mod", True),
        (Field.VALUE, b"1", True),
        (Field.VALUE, b"2", False),
    ],
)
def test_each_field_is_compared(gateway, prefix, field, operand, holds):
    revision = put(gateway, prefix, b"1")
    compare = Compare(prefix, field, revision if operand == "mod" else operand)
    assert gateway.txn(Txn((compare,), ()), timeout=5.0).succeeded is holds


def test_p1_the_value_of_a_missing_key_equals_nothing(gateway, prefix):
    assert not gateway.txn(Txn((Compare(prefix, Field.VALUE, b""),), ()), timeout=5.0).succeeded


def test_nested_transactions_are_judged_one_by_one(gateway, prefix):
    keys = [f"{prefix}/{n}" for n in range(3)]
    put(gateway, keys[1], b"taken")
    nested = tuple(Txn((Compare(key, Field.MOD, 0),), (Put(key, b"new"),), (Get(key),)) for key in keys)
    reply = gateway.txn(Txn((), nested), timeout=5.0)
    assert [inner.succeeded for inner in reply.replies] == [True, False, True]
    assert reply.replies[1].replies[0].kv.value == b"taken"


def test_p21_compares_see_the_values_before_the_transaction(gateway, prefix):
    inner = Txn((Compare(prefix, Field.MOD, 0),), (), (Get(prefix),))
    reply = gateway.txn(Txn((), (Put(prefix, b"new"), inner)), timeout=5.0)
    assert reply.replies[1].succeeded


def test_what_breaks_a_limit_is_told_from_what_is_wrong(gateway, prefix):
    with pytest.raises(Rejected, match="duplicate key") as caught:
        gateway.txn(Txn((), (Put(prefix, b"1"), Put(prefix, b"2"))), timeout=5.0)
    assert not isinstance(caught.value, TooLarge)
    with pytest.raises(TooLarge, match="too many operations"):
        gateway.txn(Txn((), tuple(Put(f"{prefix}/{n}", b"") for n in range(129))), timeout=5.0)
    for size in (1_600_000, 3_000_000):
        with pytest.raises(TooLarge):
            put(gateway, prefix, b"x" * size)
    with pytest.raises(LeaseNotFound):
        put(gateway, prefix, lease=12345)
    assert gateway.range(prefix, prefix=True, timeout=5.0).count == 0


def test_a_list_is_of_one_revision_whatever_its_pages(gateway, prefix):
    for n in range(7):
        last = put(gateway, f"{prefix}/{n}")
    listing = gateway.list(f"{prefix}/", page=3, timeout=5.0)
    assert [kv.key for kv in listing.kvs] == [f"{prefix}/{n}" for n in range(7)]
    assert listing.revision >= last
    assert gateway.list(f"{prefix}/absent", timeout=5.0).kvs == ()


def test_pages_do_not_see_what_is_written_in_between(gateway, prefix, monkeypatch):
    for n in range(4):
        put(gateway, f"{prefix}/{n}")
    persist = gateway._persist

    def interrupted(*args, **fields):
        result = persist(*args, **fields)
        put(gateway, f"{prefix}/9")
        return result

    monkeypatch.setattr(gateway, "_persist", interrupted)
    assert len(gateway.list(f"{prefix}/", page=2, timeout=5.0).kvs) == 4


def test_the_past_can_be_read_until_it_is_compacted(gateway, prefix):
    first = put(gateway, prefix, b"1")
    second = put(gateway, prefix, b"2")
    assert gateway.range(prefix, revision=first, timeout=5.0).kvs[0].value == b"1"
    gateway.compact(second, timeout=5.0)
    gateway.compact(second, timeout=5.0)
    with pytest.raises(Compacted):
        gateway.range(prefix, revision=first, timeout=5.0)
    assert gateway.range(prefix, revision=second, timeout=5.0).kvs[0].value == b"2"


def test_keys_only_and_limits(gateway, prefix):
    for n in range(3):
        put(gateway, f"{prefix}/{n}")
    reply = gateway.range(f"{prefix}/", prefix=True, keys_only=True, limit=2, timeout=5.0)
    assert ([kv.value for kv in reply.kvs], reply.count, reply.more) == ([b"", b""], 3, True)
    reply = gateway.range(f"{prefix}/", prefix=True, start=f"{prefix}/1", timeout=5.0)
    assert [kv.key for kv in reply.kvs] == [f"{prefix}/1", f"{prefix}/2"]


def test_an_etcd_lease_takes_its_keys_with_it(gateway, prefix):
    lease = gateway.lease_grant(60, timeout=5.0)
    put(gateway, prefix, lease=lease)
    assert gateway.lease_keepalive(lease, timeout=5.0) == 60
    gateway.lease_revoke(lease, timeout=5.0)
    gateway.lease_revoke(lease, timeout=5.0)
    assert gateway.lease_keepalive(lease, timeout=5.0) == 0
    assert gateway.range(prefix, timeout=5.0).kvs == ()


def test_a_member_tells_how_it_is(gateway, each_etcd):
    status = gateway.status(each_etcd.endpoints[0], timeout=5.0)
    assert status.leader == status.member_id != 0
    assert status.version == ".".join(map(str, each_etcd.etcd.version))
    assert status.db_size >= status.db_size_in_use > 0
    assert (status.errors, status.is_learner) == ((), False)


def test_many_are_sent_at_once_and_each_is_called_back_once(gateway, prefix):
    replies = queue.SimpleQueue()
    for n in range(200):
        gateway.send(Txn((), (Put(f"{prefix}/{n}", b""),)), replies.put, timeout=10.0)
    revisions = {replies.get(timeout=10.0).revision for _ in range(200)}
    assert len(revisions) == 200
    assert replies.empty()


def test_a_closed_gateway_says_so(gateway, prefix):
    gateway.close()
    with pytest.raises(Unavailable, match="closed"):
        gateway.range(prefix, timeout=5.0)
    with pytest.raises(Unavailable, match="closed"):
        put(gateway, prefix)
    replies = queue.SimpleQueue()
    gateway.send(Txn((), (Put(prefix, b""),)), replies.put, timeout=5.0)
    assert isinstance(replies.get(timeout=1.0), Unavailable)


def test_kubernetes_data_is_found_in_a_real_etcd(gateway, prefix):
    assert kubernetes_key(gateway, prefix, timeout=5.0) is None
    put(gateway, f"{prefix}/pods/default/web", b"k8s\0\n\f\n\2v1")
    assert kubernetes_key(gateway, prefix, timeout=5.0) == f"{prefix}/pods/default/web"


def test_nospace_refuses_writes_until_it_is_disarmed(gateway, prefix, each_etcd):
    keeper, maintenance = gateway.lease_grant(60, timeout=5.0), Maintenance(gateway)
    alarm = Alarm(gateway.status(each_etcd.endpoints[0], timeout=5.0).member_id, "NOSPACE")
    maintenance.raise_alarm(alarm, timeout=5.0)
    try:
        assert maintenance.alarms(timeout=5.0) == (alarm,)
        with pytest.raises(NoSpace, match="disarm"):
            put(gateway, prefix)
        with pytest.raises(NoSpace):
            settle(
                gateway,
                Txn((), (Put(prefix, b""),)),
                clock=SystemClock(),
                stop=threading.Event(),
                attempt=0.5,
                within=5.0,
            )
        assert gateway.lease_keepalive(keeper, timeout=5.0) == 60
        gateway.range(prefix, timeout=5.0)
        gateway.txn(Txn((Compare(prefix, Field.MOD, 0),), (Get(prefix),)), timeout=5.0)
    finally:
        each_etcd.disarm()
    put(gateway, prefix)


def test_an_etcd_that_is_full_says_so():
    with Embedded.start(flags=("--quota-backend-bytes=1000000",)) as small, opened(small.connection) as gateway:
        fillers = (partial(put, gateway, f"/filler/{n}", bytes(100_000)) for n in range(200))
        with pytest.raises(NoSpace):
            deque((fill() for fill in fillers), maxlen=0)
        gateway.range("/filler", prefix=True, limit=1, timeout=5.0)


# --- the public faults of other clients


def test_row_2_a_watch_without_etcd_is_bounded():
    (port,) = free_ports(1)
    with opened(Connection(endpoints=(f"127.0.0.1:{port}",))) as gateway:
        items = queue.SimpleQueue()
        watch = gateway.watch([WatchTarget("/k")], items.put)
        assert isinstance(items.get(timeout=2.0).error, Unavailable)
        assert watch.close(2.0)
        with pytest.raises(Unavailable, match=f"no answer from etcd at 127.0.0.1:{port} within 0.3 s"):
            gateway.range("/k", timeout=0.3)


def test_row_4_and_6_clients_come_and_go_without_a_trace(each_etcd, prefix, monkeypatch):
    unhandled = []
    monkeypatch.setattr(threading, "excepthook", unhandled.append)
    settled = threading.active_count()
    for _ in range(50):
        with opened(each_etcd.connection) as gateway:
            watch = gateway.watch([WatchTarget(prefix, prefix=True)], lambda _: None)
            gateway.range(prefix, timeout=5.0)
            assert watch.close()
    eventually(lambda: threading.active_count() <= settled, within=5.0)
    assert unhandled == []


def test_row_8_a_deletion_between_a_transaction_and_the_watch_is_seen(gateway, prefix):
    revision = put(gateway, prefix)
    gateway.txn(Txn((), (Delete(prefix),)), timeout=5.0)
    items = queue.SimpleQueue()
    gateway.watch([WatchTarget(prefix, start_revision=revision + 1)], items.put)
    (event,) = items.get(timeout=5.0).events
    assert (event.value, event.mod_revision) == (None, revision + 1)


def test_row_14_etcd_killed_under_a_watch_is_a_typed_item():
    with Embedded.start(flags=QUICK) as own, opened(own.connection) as gateway:
        items = queue.SimpleQueue()
        gateway.watch([WatchTarget("/k", start_revision=1)], items.put)
        put(gateway, "/k")
        assert items.get(timeout=5.0).events[0].key == "/k"
        own.members[0].kill()
        assert isinstance(items.get(timeout=5.0).error, Unavailable)
        own.restart(own.members[0])
        put(gateway, "/k", b"again")
        assert items.get(timeout=5.0).events[0].value == b"again"
        assert items.empty()


def test_another_cluster_behind_the_same_name_is_another_history(each_etcd):
    witness = Witness()
    with Embedded.start() as stranger:
        with opened(each_etcd.connection, witness=witness) as gateway:
            gateway.range("/k", timeout=5.0)
        both = Gateway(stranger.connection, purpose="test", witness=witness)
        items = queue.SimpleQueue()
        try:
            with pytest.raises(Exception, match=r"is cluster .* not .* as before"):
                both.range("/k", timeout=5.0)
            watch = both.watch([WatchTarget("/k")], items.put)
            assert "as before" in str(items.get(timeout=5.0).error)
            eventually(lambda: not watch.running, within=2.0)
        finally:
            both.close()
