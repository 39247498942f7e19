from __future__ import annotations

import pytest

from lockd.errors import Fenced, Unavailable
from lockd.fencing import ObjectWrite
from replica.writer import TermWriter
from tests.harness import term
from tests.harness.clock import ManualClock
from tests.harness.fake_etcd import FakeEtcd

KEY = "/t/events/default/5-1"


class Setting:
    def __init__(self):
        self.clock = ManualClock()
        self.etcd = FakeEtcd()
        self.leadership = term.begin(self.etcd, self.clock, gate=10.0)
        self.stops = []
        self.writer = TermWriter(self.leadership, self.settle, clock=self.clock)

    def settle(self, txn, stop):
        self.stops.append(stop)
        return self.etcd.txn(txn, timeout=1)


@pytest.fixture
def at():
    return Setting()


def test_each_write_stands_or_falls_alone(at):
    at.etcd.put(KEY, b"there")
    reply = at.writer.write([ObjectWrite(KEY, 0, b"new"), ObjectWrite(f"{KEY}1", 0, b"new")])
    assert [result.applied for result in reply.results] == [False, True]
    assert reply.results[0].objects[0].value == b"there"
    assert at.stops == [at.leadership.lost]


def test_a_write_after_the_gate_is_not_sent(at):
    at.clock.advance(10.0)
    with pytest.raises(Fenced):
        at.writer.write([ObjectWrite(KEY, 0, b"new")])
    assert at.stops == []
    assert at.etcd.get(KEY) is None


def test_p18_a_refused_write_ends_the_term(at):
    term.depose(at.etcd)
    with pytest.raises(Fenced):
        at.writer.write([ObjectWrite(KEY, 0, b"new")])
    assert at.leadership.lost.is_set()
    assert at.etcd.get(KEY) is None


def test_what_etcd_says_is_passed_on(at):
    at.etcd.failure = Unavailable("down")
    with pytest.raises(Unavailable):
        at.writer.write([ObjectWrite(KEY, 0, b"new")])
    assert not at.leadership.lost.is_set()
