"""What networks and members do to calls, by proxies in front of a real etcd: nothing is raised in a fake."""

from __future__ import annotations

import queue
import threading
from itertools import count

import pytest

from component.clock import SystemClock
from lockd.errors import HistoryLost, OutcomeUnknown, StoreError, Unavailable
from lockd.etcd.embedded import Embedded
from lockd.etcd.maintenance import Maintenance
from lockd.etcd.model import WatchBatch, WatchTarget
from lockd.etcd.retry import settle
from lockd.etcd.witness import Witness
from lockd.ports import Compare, Field, Get, Put, Txn
from tests.harness import etcd as harness
from tests.harness.etcd import opened
from tests.harness.proxy import Way
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

CLOCK = SystemClock()


def create(key, value):
    return Txn((Compare(key, Field.MOD, 0),), (Put(key, value),), (Get(key),))


def settled(gateway, txn, *, attempt=0.5, within=10.0):
    return settle(gateway, txn, clock=CLOCK, stop=threading.Event(), attempt=attempt, within=within)


def is_refused(gateway, key, copy):
    """Does the gateway know that it can't connect to the member of this copy?"""
    try:
        gateway.txn(Txn((), (Get(key),)), timeout=1.0, copy=copy)
    except StoreError as error:
        return "not connected" in str(error)
    return False


def took(action):
    started = CLOCK.now()
    action()
    return CLOCK.now() - started


@pytest.fixture
def direct(trio):
    """A gateway past the proxies."""
    with opened(trio.connection) as gateway:
        yield gateway


@pytest.fixture
def gateway(proxies):
    """A gateway through the proxies, which prefers the first member."""
    with opened(proxies.connection) as gateway:
        yield gateway


def test_a_lost_reply_is_an_unknown_outcome_and_was_applied(trio, proxies, gateway, direct, prefix):
    swallow = proxies.each[0].swallow(b"only here")
    with pytest.raises(OutcomeUnknown):
        gateway.txn(create(prefix, b"only here"), timeout=1.0)
    assert swallow.passed.is_set()
    assert direct.range(prefix, timeout=5.0).kvs[0].value == b"only here"


def test_a_lost_reply_is_settled_by_an_identical_copy_to_another_member(proxies, gateway, direct, prefix):
    swallow = proxies.each[0].swallow(b"only here")
    reply = settled(gateway, create(prefix, b"only here"))
    assert swallow.passed.is_set()
    assert not reply.succeeded  # the first copy had been applied ...
    assert reply.replies[0].kv.value == b"only here"  # ... as the else branch shows
    assert direct.range(prefix, timeout=5.0).kvs[0].version == 1


def test_a_connection_reset_under_a_transaction_is_settled_too(proxies, gateway, direct, prefix):
    swallow = proxies.each[0].swallow(b"only here")
    cut = threading.Thread(target=lambda: swallow.passed.wait(5.0) and proxies.each[0].reset())
    cut.start()
    reply = settled(gateway, create(prefix, b"only here"), attempt=5.0)
    cut.join()
    assert reply.succeeded or reply.replies[0].kv.value == b"only here"
    assert direct.range(prefix, timeout=5.0).kvs[0].version == 1


def test_p17_a_late_reply_of_the_first_copy_counts(proxies, gateway, prefix):
    gateway.range(prefix, timeout=5.0)
    for proxy in proxies.each:
        proxy.delay(0.4)  # each way: later than an attempt
    reply = settled(gateway, create(prefix, b"late"), attempt=0.25)
    assert reply.succeeded


def test_refused_connections_have_no_effect_and_the_next_member_is_asked(proxies, gateway, prefix):
    proxies.each[0].refuse()
    assert settled(gateway, create(prefix, b"1")).succeeded
    assert gateway.range(prefix, timeout=2.0).count == 1
    for proxy in proxies.each:
        proxy.refuse()
    for copy in range(len(proxies.each)):  # what goes out on a connection that is just being reset may have an effect
        eventually(lambda copy=copy: is_refused(gateway, prefix, copy), within=20.0)
    with pytest.raises(Unavailable) as caught:
        settled(gateway, create(f"{prefix}/2", b"2"), within=1.0)
    assert type(caught.value) is Unavailable
    proxies.heal()
    assert settled(gateway, create(f"{prefix}/2", b"2")).succeeded


def test_the_first_connections_fail_and_then_it_heals(proxies, gateway, prefix):
    for proxy in proxies.each:
        proxy.fail_connections(2)
    assert settled(gateway, create(prefix, b"1")).succeeded
    assert gateway.range(prefix, timeout=5.0).count == 1


@pytest.mark.parametrize("ways", [(Way.TO_CLIENT,), (Way.TO_SERVER,), ()], ids=["replies", "requests", "both"])
def test_a_member_behind_a_black_hole_costs_one_attempt(proxies, gateway, direct, prefix, ways):
    gateway.range(prefix, timeout=5.0)
    proxies.each[0].black_hole(*ways)
    reply = settled(gateway, create(prefix, b"here"), attempt=0.5)
    assert reply.succeeded is (Way.TO_CLIENT not in ways or not ways)
    # The silent member is avoided now: the next ones cost nothing.
    assert took(lambda: settled(gateway, create(f"{prefix}/2", b"2"), attempt=2.0)) < 2.0
    assert direct.range(prefix, timeout=5.0).kvs[0].version == 1


def test_a_read_leaves_a_silent_member_in_time(proxies, gateway, prefix):
    gateway.range(prefix, timeout=5.0)
    proxies.each[0].black_hole()
    assert gateway.range(prefix, timeout=4.0).count == 0


def test_row_12_the_first_endpoint_is_killed(trio, direct, prefix):
    trio.members[0].kill()
    with opened(trio.connection) as fresh:
        assert settled(fresh, create(f"{prefix}/1", b"1")).succeeded
    assert settled(direct, create(f"{prefix}/2", b"2")).succeeded
    assert direct.range(prefix, prefix=True, timeout=5.0).count == 2


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_writes_go_on_when_the_etcd_leader_does_not(trio, direct, prefix, fault):
    leader = trio.leader()
    getattr(leader, fault)()
    for n in range(3):
        assert settled(direct, create(f"{prefix}/{n}", b""), within=15.0).succeeded


def test_row_27_a_minority_answers_for_itself_only(trio, direct, prefix):
    direct.txn(create(prefix, b"seen"), timeout=5.0)
    for member in trio.members[1:]:
        member.kill()
    eventually(lambda: direct.status(trio.endpoints[0], timeout=1.0).leader == 0, within=10.0)
    assert direct.range(prefix, serializable=True, timeout=5.0).kvs[0].value == b"seen"
    with pytest.raises(Unavailable, match="no leader"):
        direct.range(prefix, timeout=0.5)
    # Refused before it was proposed: certainly without effect, and at once.
    with opened(trio.connection) as fresh:
        refused = []
        assert took(lambda: refused.append(error_of(fresh, create(f"{prefix}/2", b"2")))) < 1.0
    assert type(refused[0]) is Unavailable
    harness.heal(trio)
    assert direct.range(f"{prefix}/2", timeout=5.0).count == 0


def error_of(gateway, txn):
    try:
        gateway.txn(txn, timeout=2.0)
    except StoreError as error:
        return error
    raise AssertionError("it was answered")


class Counted:
    """Counts the copies that go to a gateway."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.copies = 0

    def send(self, *args, **fields):
        self.copies += 1
        return self.gateway.send(*args, **fields)


def test_row_22_transactions_of_unknown_outcome_are_applied_once(prefix):
    """The member is stopped and goes on again and again; each counter step must be applied once or not at all."""
    with Embedded.start() as own, opened(own.connection) as gateway:
        own_stop, member = threading.Event(), own.members[0]

        def stutter():
            while not own_stop.wait(0.05):
                member.pause()
                own_stop.wait(0.15)
                member.resume()

        thread = threading.Thread(target=stutter)
        thread.start()
        sent, revision = Counted(gateway), 0
        try:
            for n in count():
                if n >= 40 and sent.copies > n:  # at least one was sent again
                    break
                assert n < 4000, "the member was never stopped at the right moment"
                value = b"%d" % n
                txn = Txn((Compare(prefix, Field.MOD, revision),), (Put(prefix, value),), (Get(prefix),))
                reply = settled(sent, txn, attempt=0.05, within=20.0)
                revision = reply.revision if reply.succeeded else reply.replies[0].kv.mod_revision
        finally:
            own_stop.set()
            thread.join()
        found = gateway.range(prefix, timeout=5.0).kvs[0]
        assert (found.value, found.version) == (b"%d" % (n - 1), n)


def test_p1_a_restored_etcd_is_another_history(tmp_path):
    witness = Witness()
    with Embedded.start(flags=harness.QUICK) as own, opened(own.connection, witness=witness) as gateway:
        gateway.txn(create("/before", b""), timeout=5.0)
        harness.save(own, tmp_path)
        for n in range(5):
            last = settled(gateway, create(f"/after/{n}", b"")).revision
        harness.restore(own, tmp_path)
        with pytest.raises(HistoryLost, match=f"from revision {last} to"):
            settled(gateway, create("/again", b""))
        with pytest.raises(HistoryLost):
            gateway.range("/before", timeout=5.0)
        with opened(own.connection) as fresh:
            assert fresh.range("/before", timeout=5.0).count == 1


def test_p1_history_that_only_a_watch_has_told_of_is_missed_too(tmp_path):
    with (
        Embedded.start(flags=harness.QUICK) as own,
        opened(own.connection) as writer,
        opened(own.connection) as watcher,
    ):
        settled(writer, create("/before", b""))
        harness.save(own, tmp_path)
        known = watcher.range("/before", timeout=5.0).revision  # all that it ever asked, and the snapshot has it
        seen = []
        watcher.watch([WatchTarget("/after/", prefix=True, start_revision=known + 1)], seen.append)
        for n in range(5):
            last = settled(writer, create(f"/after/{n}", b"")).revision
        eventually(lambda: any(isinstance(it, WatchBatch) and it.revision == last for it in seen), within=10.0)
        harness.restore(own, tmp_path)
        with pytest.raises(HistoryLost, match=f"from revision {last} to"):
            watcher.range("/before", timeout=5.0)


def test_parallel_replies_in_the_wrong_order_are_not_another_history(trio, proxies, prefix):
    with opened(proxies.connection) as slow, opened(trio.connection, first=1, witness=slow._witness) as fast:
        slow.range(prefix, timeout=5.0)
        replies = queue.SimpleQueue()
        proxies.each[0].black_hole(Way.TO_CLIENT)
        slow.send(create(f"{prefix}/slow", b""), replies.put, timeout=10.0)
        eventually(lambda: fast.range(f"{prefix}/slow", timeout=5.0).count == 1, within=5.0)
        later = fast.txn(create(f"{prefix}/fast", b""), timeout=5.0).revision
        proxies.heal()
        assert replies.get(timeout=5.0).revision < later
        assert slow.range(prefix, timeout=5.0).revision >= later


def test_quorum_lost_and_back(trio, direct, prefix):
    trio.members[1].kill()
    trio.members[2].kill()
    outcome = error_of(direct, create(f"{prefix}/1", b"1"))
    assert isinstance(outcome, Unavailable | OutcomeUnknown)
    trio.members[1].start()
    reply = settled(direct, create(f"{prefix}/1", b"1"), within=20.0)
    assert reply.succeeded or reply.replies[0].kv.value == b"1"
    assert direct.range(f"{prefix}/1", timeout=5.0).kvs[0].version == 1


def test_the_cluster_can_be_told_who_leads(trio):
    for member in trio.members:
        trio.move_leader(member)
        assert trio.leader() is member


def test_members_are_listed(trio, direct):
    members = Maintenance(direct).members(timeout=5.0)
    assert sorted(member.name for member in members) == [member.name for member in trio.members]
    Maintenance(direct).defragment(trio.endpoints[0], timeout=5.0)
