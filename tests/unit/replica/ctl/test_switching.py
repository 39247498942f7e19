"""A switchover: who is asked for whom, and how the wish is written."""

from __future__ import annotations

import pytest

from lockd.candidate import Candidate
from lockd.observed import Switchover
from lockd.ports import LockName
from lockd.record import LeaderRecord, TermValue
from replica.ctl.members import read_members
from replica.ctl.switching import SwitchoverRefused, Wish, ask, await_successor
from tests.harness.clock import ManualClock
from tests.harness.memory_gateway import MemoryGateway

LOCK = LockName("/lockd", "kube-system", "kube-scheduler")


@pytest.fixture
def etcd():
    return MemoryGateway()


@pytest.fixture
def lead(etcd):
    def run(identity, *standbys, deposed=()):
        etcd.put(LOCK.lease, LeaderRecord(holder_identity=identity).encode())
        etcd.put(LOCK.term, TermValue(identity, f"{identity}-{etcd.space.revision}").encode())
        for name in (identity, *standbys):
            value = Candidate(identity=name, deposed_token=7 if name in deposed else 0)
            etcd.put(LOCK.candidates + name, value.encode())
        return etcd.get(LOCK.term).mod_revision

    return run


def wish_of(etcd, candidate=""):
    return Wish.of(read_members(etcd, LOCK, timeout=1.0), candidate)


@pytest.mark.parametrize(("asked", "found"), [("", ""), ("b_2", "b_2"), ("c", "c_3"), ("b_22", "b_22")])
def test_who_is_to_lead(etcd, lead, asked, found):
    token = lead("a_1", "b_2", "b_22", "c_3")
    assert wish_of(etcd, asked) == Wish("a_1", token, found)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("a_1", "a_1 leads already"),
        ("b", "is the beginning of several names: those that do are b_2, b_22"),
        ("x", "\"x\" doesn't stand by: those that do are b_2, b_22"),
        ("c_3", "\"c_3\" doesn't stand by"),
    ],
)  # fmt: skip
def test_who_cannot(etcd, lead, asked, told):
    lead("a_1", "b_2", "b_22", "c_3", deposed=("c_3",))
    with pytest.raises(SwitchoverRefused) as caught:
        wish_of(etcd, asked)
    assert told in str(caught.value)


def test_nobody_to_hand_over_from_or_to(etcd, lead):
    with pytest.raises(SwitchoverRefused, match="nobody leads kube-system/kube-scheduler"):
        wish_of(etcd)
    lead("a_1")
    with pytest.raises(SwitchoverRefused, match="no replica stands by"):
        wish_of(etcd)


def send(etcd, wish):
    ask(etcd, LOCK, wish, timeout=1.0, clock=ManualClock())


def written(etcd):
    found = etcd.get(LOCK.switchover)
    return Switchover.parse(found.value) if found is not None else None


def test_a_wish_is_what_a_leader_reads(etcd, lead):
    token = lead("a_1", "b_2")
    send(etcd, wish_of(etcd, "b_2"))
    assert written(etcd) == Switchover("b_2", token)
    send(etcd, wish_of(etcd, "b_2"))
    send(etcd, wish_of(etcd))
    assert written(etcd) == Switchover("", token)


def test_a_wish_of_a_term_that_has_ended_is_not_written(etcd, lead):
    lead("a_1", "b_2")
    wish = wish_of(etcd)
    lead("b_2", "a_1")
    with pytest.raises(SwitchoverRefused, match="a_1's term has ended"):
        send(etcd, wish)
    assert written(etcd) is None


def test_of_two_wishes_the_last_counts(etcd, lead):
    token = lead("a_1", "b_2", "c_3")
    mine, other = wish_of(etcd, "b_2"), wish_of(etcd, "c_3")

    def meanwhile(txn):
        if txn.compares:
            etcd.before = lambda _txn: None
            send(etcd, other)

    etcd.before = meanwhile
    send(etcd, mine)
    assert written(etcd) == Switchover("b_2", token)


def test_a_late_copy_of_a_wish_changes_nothing(etcd, lead):
    token = lead("a_1", "b_2", "c_3")
    send(etcd, wish_of(etcd, "b_2"))
    (copy,) = etcd.sent
    send(etcd, wish_of(etcd, "c_3"))
    etcd.send(copy, lambda _reply: None, timeout=1.0)
    assert written(etcd) == Switchover("c_3", token)


def test_a_wish_whose_reply_was_lost_counts(etcd, lead):
    token = lead("a_1", "b_2")
    etcd.lose = 1
    send(etcd, wish_of(etcd))
    assert written(etcd) == Switchover("", token)


def test_the_next_leader(etcd, lead):
    lead("a_1", "b_2")
    wish, clock = wish_of(etcd), ManualClock()
    assert await_successor(etcd, LOCK, wish, within=0.0, timeout=1.0, clock=clock) is None
    lead("", "a_1", "b_2")
    assert await_successor(etcd, LOCK, wish, within=0.0, timeout=1.0, clock=clock) is None
    token = lead("a_1", "b_2")
    found = await_successor(etcd, LOCK, wish, within=0.0, timeout=1.0, clock=clock)
    assert (found.identity, found.token) == ("a_1", token)
