from __future__ import annotations

import threading

import pytest

from lockd.errors import Fenced, Unavailable
from replica.api import codec
from replica.statuses import StatusWriter
from replica.writer import TermWriter
from tests.harness import term
from tests.harness.clock import ManualClock
from tests.harness.fake_etcd import FakeEtcd
from tests.harness.objects import pod

FULL = {"reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient cpu."}


class Setting:
    def __init__(self):
        self.clock = ManualClock()
        self.etcd = FakeEtcd()
        self.leadership = term.begin(self.etcd, self.clock)
        self.writes = []
        self.before = None
        self.writer = TermWriter(self.leadership, lambda txn, _stop: self.etcd.txn(txn, timeout=1), clock=self.clock)
        self.statuses = StatusWriter(self.write, prefix=term.PREFIX, token=self.leadership.token, clock=self.clock)

    def write(self, writes):
        self.writes.append(len(writes))
        if self.before is not None:
            self.before()
        return self.writer.write(writes)

    def run(self):
        """Write all that waits."""
        while self.statuses.flush(0):
            pass

    def status(self, name):
        return codec.status_of(self.etcd.get(term.pod_key(name)).value)


@pytest.fixture
def at():
    return Setting()


def test_a_condition_is_written_under_the_term(at):
    (found,) = term.store(at.etcd, [pod("p")])
    assert at.statuses.say(found, **FULL)
    at.run()
    condition = at.status("p").scheduled
    assert (condition.status, condition.reason, condition.message) == ("False", FULL["reason"], FULL["message"])
    assert term.read(at.etcd, "p").token == at.leadership.token
    assert term.read(at.etcd, "p").spec == found.spec


def test_what_the_pod_says_already_is_not_written_again(at):
    (found,) = term.store(at.etcd, [pod("p")])
    at.statuses.say(found, **FULL)
    at.run()
    assert not at.statuses.say(term.read(at.etcd, "p"), **FULL)
    assert at.statuses.say(term.read(at.etcd, "p"), **FULL, nominated="n1")
    at.run()
    assert at.status("p").nominated_node_name == "n1"


def test_the_time_of_the_condition_is_when_it_became_false(at):
    (found,) = term.store(at.etcd, [pod("p")])
    at.statuses.say(found, **FULL)
    at.run()
    first = at.status("p").scheduled.last_transition_time
    at.clock.advance(100.0)
    at.statuses.say(term.read(at.etcd, "p"), reason="SchedulerError", message="oh")
    at.run()
    assert at.status("p").scheduled.reason == "SchedulerError"
    assert at.status("p").scheduled.last_transition_time == first


def test_the_newest_wish_replaces_one_that_waits(at):
    (found,) = term.store(at.etcd, [pod("p")])
    at.statuses.say(found, **FULL)
    at.statuses.say(found, reason="Unschedulable", message="newer")
    at.run()
    assert at.status("p").scheduled.message == "newer"
    assert at.writes == [1]


def test_a_pod_that_changed_meanwhile_is_left_alone(at):
    (found,) = term.store(at.etcd, [pod("p")])
    at.etcd.put(term.pod_key("p"), found.value)
    at.statuses.say(found, **FULL)
    at.run()
    assert at.status("p").scheduled is None


def test_wishes_go_together_but_not_without_bound(at):
    for found in term.store(at.etcd, [pod(f"p{number}") for number in range(250)]):
        at.statuses.say(found, **FULL)
    at.run()
    assert at.writes == [100, 100, 50]


def test_large_pods_go_in_smaller_numbers(at):
    for found in term.store(at.etcd, [pod(f"p{number}", comment="x" * 400_000) for number in range(5)]):
        at.statuses.say(found, **FULL)
    at.run()
    assert at.writes == [2, 2, 1]


def test_a_wish_taken_back_is_not_written(at):
    (found,) = term.store(at.etcd, [pod("p")])
    at.statuses.say(found, **FULL)
    assert at.statuses.withdraw(found.uid)
    at.run()
    assert at.writes == []


def test_p25_a_write_on_its_way_is_told_of(at):
    (found,) = term.store(at.etcd, [pod("p")])
    at.statuses.say(found, **FULL)
    seen = []
    at.before = lambda: seen.append(at.statuses.withdraw(found.uid))
    at.run()
    assert seen == [False]
    assert at.statuses.withdraw(found.uid)


def test_an_etcd_that_does_not_answer_costs_the_status_and_no_more(at):
    first, second = term.store(at.etcd, [pod("p"), pod("q")])
    at.statuses.say(first, **FULL)
    at.etcd.failure = Unavailable("down")
    at.run()
    at.etcd.failure = None
    at.statuses.say(second, **FULL)
    at.run()
    assert at.status("q").scheduled is not None


def test_the_end_of_the_term_ends_it(at):
    (found,) = term.store(at.etcd, [pod("p")])
    at.statuses.say(found, **FULL)
    term.depose(at.etcd)
    at.statuses.run(threading.Event())
    assert at.status("p").scheduled is None
    with pytest.raises(Fenced):
        at.writer.write([])


def test_a_bound_pod_has_nothing_to_say(at):
    assert not at.statuses.say(pod("p", node="a"), **FULL)
