"""What the lock protocol takes for granted of etcd (rules P1, P2, P7, P21, P25), on real ones and on the one in memory.

The last is what the tests of the election run on: were it kinder than etcd, they would prove nothing.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from lockd.errors import Rejected
from lockd.etcd.embedded import Embedded
from lockd.fencing import Guard, GuardedWrite, ObjectWrite, Token
from lockd.ports import (
    Acquire,
    Applied,
    Compare,
    Delete,
    Field,
    Get,
    GetReply,
    LockName,
    Put,
    Release,
    Renew,
    Txn,
    TxnReply,
)
from lockd.record import LeaderRecord, TermValue
from lockd.store import to_result, to_txn
from tests.harness import etcd as harness
from tests.harness.lock_store import LockStore

pytestmark = pytest.mark.etcd

WITHIN = 10.0


class Memory:
    """The one in memory, spoken to like a gateway."""

    def __init__(self):
        self.store = LockStore()

    def txn(self, txn, *, timeout):
        return self.store.txn(txn)


@pytest.fixture(
    scope="module", params=["memory", *harness.programs()], ids=lambda p: p if p == "memory" else harness.version(p)
)
def keys(request):
    if request.param == "memory":
        yield Memory()
        return
    with Embedded.start(etcd=request.param) as cluster, harness.opened(cluster.connection) as gateway:
        yield gateway


@dataclass
class Lock:
    """One lock on one etcd, and a pod beside it."""

    keys: object
    name: LockName

    @property
    def pod(self):
        return f"{self.name.prefix}/pods/default/web"

    def txn(self, *compares, then=(), otherwise=()):
        return self.keys.txn(Txn(compares, tuple(then), tuple(otherwise)), timeout=WITHIN)

    def put(self, key, value=b"x"):
        return self.txn(then=(Put(key, value),)).revision

    def get(self, key):
        return self.txn(then=(Get(key),)).replies[0].kv

    def delete(self, key):
        return self.txn(then=(Delete(key),)).revision

    def send(self, transaction) -> Applied:
        return to_result(self.keys.txn(to_txn(self.name, transaction), timeout=WITHIN))

    def acquire(self, who, *, lease=0, term=0):
        """An acquire of this candidate that compares these revisions."""
        record = LeaderRecord(holder_identity=who, lease_duration=15.0, renewal=f"{who}-0")
        return Acquire(record, TermValue(who, f"secret {who}"), (), lease, term)

    def guard(self, who, token):
        return Guard(self.name.term, Token(token), TermValue(who, f"secret {who}").encode())

    def write(self, guard, *writes):
        guarded = GuardedWrite.of(guard, writes)
        return guarded.judge(self.keys.txn(guarded.txn(), timeout=WITHIN))


@pytest.fixture
def lock(keys):
    return Lock(keys, LockName(f"/test-{uuid.uuid4().hex[:12]}", "kube-system", "kube-scheduler"))


# --- P1: an etcd restored from a snapshot ---


@pytest.mark.parametrize("program", harness.programs(), ids=harness.version)
def test_p1_after_a_restore_the_same_token_is_refused_by_its_value(program, tmp_path):
    with Embedded.start(etcd=program) as cluster:
        name = LockName("/test", "kube-system", "kube-scheduler")
        with harness.opened(cluster.connection) as gateway:
            pod = Lock(gateway, name).put(Lock(gateway, name).pod)
        harness.save(cluster, tmp_path)
        with harness.opened(cluster.connection) as gateway:
            old = Lock(gateway, name).send(Lock(gateway, name).acquire("a")).revision
        harness.restore(cluster, tmp_path)
        with harness.opened(cluster.connection) as gateway:  # another process: it knows nothing of what was
            lock = Lock(gateway, name)
            new = lock.send(lock.acquire("b"))
            assert new.succeeded
            assert new.revision == old, "revisions went back: the tokens are the same"
            by_revision = lock.txn(
                Compare(name.term, Field.MOD, old),
                Compare(lock.pod, Field.MOD, pod),
                then=(Get(lock.pod),),
            )
            assert by_revision.succeeded, "which is why the revision alone does not fence"
            write = ObjectWrite(lock.pod, pod, b"bound by a")
            assert lock.write(lock.guard("a", old), write).fenced
            renew = Renew(LeaderRecord(holder_identity="a"), TermValue("a", "secret a"), new.revision, old)
            assert not lock.send(renew).succeeded
            released = TermValue("", "x")
            release = Release(LeaderRecord(), TermValue("a", "secret a"), released, (), new.revision, old)
            assert not lock.send(release).succeeded
            assert not lock.write(lock.guard("b", new.revision), write).fenced


# --- P2: a missing term key ---


def test_p2_a_missing_key_has_revision_0_and_equals_no_value(lock):
    assert lock.txn(Compare(lock.name.term, Field.MOD, 0)).succeeded
    assert lock.txn(Compare(lock.name.term, Field.CREATE, 0)).succeeded
    for value in (b"", b"x"):
        assert not lock.txn(Compare(lock.name.term, Field.VALUE, value)).succeeded


# --- P7: absent, there, absent again ---


def test_p7_a_late_acquire_is_refused_after_the_lease_key_was_deleted(lock):
    late = lock.acquire("a")
    assert lock.send(lock.acquire("b")).succeeded
    lock.delete(lock.name.lease)
    answer = lock.send(late)
    assert not answer.succeeded
    assert answer.view.lease.value is None
    assert TermValue.parse(answer.view.term.value).holder_identity == "b"


def test_p7_but_not_after_both_were_which_is_a_stated_limit(lock):
    late = lock.acquire("a")
    b = lock.send(lock.acquire("b")).revision
    lock.delete(lock.name.lease)
    lock.delete(lock.name.term)
    assert lock.send(late).succeeded
    assert lock.write(lock.guard("b", b), ObjectWrite(lock.pod, 0, b"x")).fenced, "S1 holds all the same"


# --- P21: order and limits ---


def test_p21_compares_are_judged_before_any_put_nested_ones_too(lock):
    before = lock.put(lock.pod, b"old")
    nested = Txn((Compare(lock.pod, Field.VALUE, b"old"),), (Put(f"{lock.pod}-2", b"x"),), (Get(lock.pod),))
    reply = lock.txn(Compare(lock.pod, Field.MOD, before), then=(Put(lock.pod, b"new"), nested, Get(lock.pod)))
    assert reply.succeeded
    assert reply.replies[1].succeeded, "it saw the old value"
    assert reply.replies[2].kv.value == b"new", "but a read sees the new one"


@pytest.mark.parametrize("where", ["flat", "nested", "both nested"])
def test_p21_a_key_put_twice_refuses_the_whole_transaction(lock, where):
    put = Put(lock.pod, b"x")
    inside = Txn((), (put,))
    ops = {"flat": (put, put), "nested": (put, inside), "both nested": (inside, inside)}[where]
    with pytest.raises(Rejected):
        lock.txn(then=(Put(f"{lock.pod}-other", b"x"), *ops))
    assert lock.get(f"{lock.pod}-other") is None


def test_p21_in_the_two_branches_of_one_transaction_it_may_stand(lock):
    reply = lock.txn(then=(Txn((Compare(lock.pod, Field.MOD, 0),), (Put(lock.pod, b"1"),), (Put(lock.pod, b"2"),)),))
    assert reply.replies[0].succeeded
    assert lock.get(lock.pod).value == b"1"


def test_p21_lease_and_term_share_a_revision_the_answers(lock):
    answer = lock.send(lock.acquire("a"))
    kvs = [lock.get(key) for key in (lock.name.lease, lock.name.term, lock.name.history)]
    assert {kv.mod_revision for kv in kvs} == {answer.revision}


def test_p21_a_refusal_of_all_that_is_nested_is_a_success_without_a_revision(lock):
    a = lock.send(lock.acquire("a")).revision
    before = lock.put(f"{lock.pod}-other")
    guarded = GuardedWrite.of(lock.guard("a", a), [ObjectWrite(lock.pod, 77, b"x")])
    reply = lock.keys.txn(guarded.txn(), timeout=WITHIN)
    assert reply.succeeded
    assert reply.revision == before
    assert isinstance(reply.replies[0], TxnReply)
    assert not reply.replies[0].succeeded


def test_p21_128_operations_at_a_level_and_no_more(lock):
    assert lock.txn(then=tuple(Put(f"{lock.pod}-{n}", b"x") for n in range(128))).succeeded
    with pytest.raises(Rejected):
        lock.txn(then=tuple(Put(f"{lock.pod}-{n}", b"x") for n in range(129)))


@pytest.mark.parametrize("program", harness.programs(), ids=harness.version)
def test_p21_compaction_changes_no_mod_revision(program):
    with Embedded.start(etcd=program) as cluster, harness.opened(cluster.connection) as gateway:
        lock = Lock(gateway, LockName("/test", "kube-system", "kube-scheduler"))
        a = lock.send(lock.acquire("a")).revision
        latest = lock.put(lock.pod)
        gateway.compact(latest, timeout=WITHIN)
        assert lock.get(lock.name.term).mod_revision == a
        assert not lock.write(lock.guard("a", a), ObjectWrite(lock.pod, latest, b"y")).fenced


# --- P25: a guarded write sent again ---


def test_p25_without_a_nested_else_a_copy_sent_again_says_nothing(lock):
    at = lock.put(lock.pod, b"uid=7")
    mute = Txn((), (Txn((Compare(lock.pod, Field.MOD, at),), (Put(lock.pod, b"uid=7 node=n1"),)),))
    assert lock.keys.txn(mute, timeout=WITHIN).replies[0].succeeded
    again = lock.keys.txn(mute, timeout=WITHIN).replies[0]
    assert (again.succeeded, again.replies) == (False, ())


def test_p25_with_it_the_object_says_that_the_first_was_applied(lock):
    a = lock.send(lock.acquire("a")).revision
    at = lock.put(lock.pod, b"uid=7")
    bind = ObjectWrite(lock.pod, at, b"uid=7 node=n1")
    assert lock.write(lock.guard("a", a), bind).results[0].applied
    lock.put(lock.pod, b"uid=7 node=n1 label=user")
    again = lock.write(lock.guard("a", a), bind)
    assert not again.fenced
    assert not again.results[0].applied
    assert again.results[0].objects[0].value == b"uid=7 node=n1 label=user"


def test_p25_a_delete_and_its_rider_stand_or_fall_together(lock):
    a = lock.send(lock.acquire("a")).revision
    at = lock.put(lock.pod)
    event = Put(f"{lock.name.prefix}/events/default/1-1", b"deleted")
    gone = ObjectWrite(lock.pod, at, None, riders=(event,))
    stale = replace(gone, mod_revision=at + 1000)
    assert not lock.write(lock.guard("a", a), stale).results[0].applied
    assert lock.get(event.key) is None
    assert lock.write(lock.guard("a", a), gone).results[0].applied
    assert lock.get(lock.pod) is None
    assert lock.get(event.key).value == b"deleted"
    assert lock.write(lock.guard("a", a), gone).results[0].objects == (None,)


def test_p25_after_the_term_the_objects_are_told_with_it(lock):
    a = lock.send(lock.acquire("a"))
    at = lock.put(lock.pod, b"uid=7")
    bind = ObjectWrite(lock.pod, at, b"uid=7 node=n1")
    assert lock.write(lock.guard("a", a.revision), bind).results[0].applied
    assert lock.send(lock.acquire("b", lease=a.revision, term=a.revision)).succeeded
    judged = lock.write(lock.guard("a", a.revision), bind)
    assert judged.fenced
    assert judged.results[0].objects[0].value == b"uid=7 node=n1"


# --- the four transactions, one after the other ---


def test_acquire_renew_release_and_a_guarded_write_take_turns(lock):
    a = lock.send(lock.acquire("a"))
    term, pod = TermValue("a", "secret a"), ObjectWrite(lock.pod, 0, b"x")
    assert not lock.send(lock.acquire("b")).succeeded
    renewed = lock.send(Renew(LeaderRecord(holder_identity="a", renewal="a-1"), term, a.revision, a.revision))
    assert renewed.succeeded
    assert not lock.write(lock.guard("a", a.revision), pod).fenced, "the token survives a renewal"
    again = lock.send(Renew(LeaderRecord(holder_identity="a", renewal="a-1"), term, a.revision, a.revision))
    assert not again.succeeded
    assert again.view.lease.revision == renewed.revision
    assert LeaderRecord.parse(again.view.lease.value).renewal == "a-1"
    release = Release(LeaderRecord(), term, TermValue("", "secret a-2"), (), renewed.revision, a.revision)
    released = lock.send(release)
    assert released.succeeded
    assert lock.write(lock.guard("a", a.revision), pod).fenced
    taken = lock.send(lock.acquire("b", lease=released.revision, term=released.revision))
    assert taken.succeeded
    assert taken.revision > a.revision


@pytest.mark.parametrize("renewal_first", [True, False])
def test_a_release_beside_a_renewal_ends_the_term_whichever_comes_first(lock, renewal_first):
    a = lock.send(lock.acquire("a"))
    term, mine = TermValue("a", "secret a"), LeaderRecord(holder_identity="a", renewal="a-1")
    renew = Renew(mine, term, a.revision, a.revision)
    release = Release(LeaderRecord(), term, TermValue("", "secret a-2"), (), a.revision, a.revision, mine)
    first, second = (renew, release) if renewal_first else (release, renew)
    assert lock.send(first).succeeded
    answer = lock.send(second)
    assert answer.succeeded is renewal_first
    assert lock.write(lock.guard("a", a.revision), ObjectWrite(lock.pod, 0, b"x")).fenced
    again = lock.send(release)
    assert not again.succeeded
    assert again.view.term.value == release.released.encode()


def test_nor_does_it_end_what_another_wrote_in_between(lock):
    a = lock.send(lock.acquire("a"))
    term, mine = TermValue("a", "secret a"), LeaderRecord(holder_identity="a", renewal="a-1")
    release = Release(LeaderRecord(), term, TermValue("", "secret a-2"), (), a.revision, a.revision, mine)
    lock.put(lock.name.lease, LeaderRecord(holder_identity="other").encode())
    refused = lock.send(release)
    assert not refused.succeeded
    assert LeaderRecord.parse(refused.view.lease.value).holder_identity == "other"


def test_a_get_of_a_missing_key_says_so(lock):
    assert lock.txn(then=(Get(lock.pod),)).replies == (GetReply(None),)
