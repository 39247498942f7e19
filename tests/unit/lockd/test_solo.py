from __future__ import annotations

import threading

import pytest

from component.clock import SystemClock
from lockd.config import ElectionConfig
from lockd.errors import Unavailable
from lockd.ports import KeyEvent, LockName, Put, Seen, Which
from lockd.record import LeaderRecord, TermValue, parse_history
from lockd.signals import StopReason
from lockd.solo import Occupied, Solo
from tests.harness.memory_gateway import MemoryGateway
from tests.harness.wait import eventually

LOCK = LockName("/p", "kube-system", "kube-scheduler")
NOTE = Put("/p/events/kube-system/1", b"stopped leading")


class Watch:
    """Shows what a test says."""

    def __init__(self):
        self.sink = None

    def __call__(self, sink):
        self.sink = sink
        return self

    def cancel(self):
        self.sink = None

    def show(self, which, revision, value):
        self.sink(KeyEvent(which, "key", Seen(revision, value)))


class Running:
    """A Solo on an etcd in memory, on a thread of its own."""

    def __init__(self, gateway, identity="me", work=None, **config):
        self.watch = Watch()
        self.ended_at = []
        self.errors = []
        self.stop = None
        self.refused = ""
        self.worked = threading.Event()
        config = {"drain_timeout": 0.2, "work_timeout": 60.0, **config}
        self.solo = Solo(
            ElectionConfig(identity=identity, **config),
            LOCK,
            gateway,
            self.watch,
            clock=SystemClock(),
            work=work or self.work,
            on_ending=self.ended_at.append,
            on_work_error=self.errors.append,
            riders=lambda token: (NOTE,) if token else (),
        )
        self.thread = threading.Thread(target=self.run, daemon=True)

    def work(self, leadership):
        """Works until it is told to stop, and is done at once then."""
        self.worked.set()
        while not (leadership.draining.is_set() or leadership.lost.is_set()):
            leadership.lost.wait(0.01)

    def run(self):
        try:
            self.stop = self.solo.run()
        except Occupied as refused:
            self.refused = str(refused)

    def start(self):
        self.thread.start()
        eventually(lambda: self.watch.sink is not None, within=10.0, what="the term has begun")
        return self

    def refusal(self):
        """What it says instead of beginning a term."""
        self.thread.start()
        eventually(lambda: self.refused or self.watch.sink, within=10.0, what="it has begun, or not")
        return self.refused

    def end(self):
        self.thread.join(10.0)
        assert self.stop is not None
        return self.stop


@pytest.fixture
def gateway():
    return MemoryGateway()


def record(gateway):
    return LeaderRecord.parse(gateway.get(LOCK.lease).value)


def test_it_takes_a_term_at_once_and_gives_it_back_when_asked(gateway):
    running = Running(gateway).start()
    leadership = running.solo.leadership
    term = gateway.get(LOCK.term)
    assert leadership.token == term.mod_revision
    assert leadership.guard.value == term.value
    assert record(gateway).holder_identity == running.solo.leader == "me"
    assert record(gateway).takeover == "first"
    assert leadership.holds(1e12)  # no clock ends it
    running.solo.request_stop()
    stop = running.end()
    assert (stop.reason, stop.led, stop.released, stop.asked, stop.exit_code) == (StopReason.ASKED, True, True, True, 0)
    assert TermValue.parse(gateway.get(LOCK.term).value).holder_identity == ""
    assert record(gateway).holder_identity == ""
    assert gateway.get(NOTE.key).value == NOTE.value
    assert leadership.lost.is_set()
    assert running.ended_at


def test_it_writes_nothing_while_the_term_lasts(gateway):
    running = Running(gateway).start()
    sent = len(gateway.sent)
    assert running.worked.wait(10.0)
    assert len(gateway.sent) == sent == 2  # a read and the acquire
    running.solo.request_stop()
    running.end()


def test_the_newest_fences_the_one_before(gateway):
    first = Running(gateway, "first").start()
    second = Running(gateway, "second").start()
    assert second.solo.leadership.token > first.solo.leadership.token
    assert gateway.get(LOCK.term).mod_revision == second.solo.leadership.token
    entries = parse_history(gateway.get(LOCK.history).value, second.solo.leadership.token)
    assert [entry.identity for entry in entries] == ["first", "second"]
    first.solo.leadership.fenced()
    stop = first.end()
    assert (stop.reason, stop.released, stop.exit_code) == (StopReason.FENCED, False, 1)
    assert record(gateway).holder_identity == "second"
    second.solo.request_stop()
    second.end()


@pytest.mark.parametrize(
    ("value", "reason"), [(b"another's", StopReason.TERM_ENDED), (None, StopReason.DELETED)]
)  # fmt: skip
def test_a_newer_term_ends_it_though_it_writes_nothing(gateway, value, reason):
    running = Running(gateway).start()
    token = running.solo.leadership.token
    running.watch.show(Which.TERM, token, gateway.get(LOCK.term).value)  # its own, late
    running.watch.show(Which.LEASE, token + 5, b"{}")  # decides nothing
    running.watch.show(Which.TERM, token + 9, value)
    stop = running.end()
    assert (stop.reason, stop.released, stop.exit_code) == (reason, False, 1)


def test_a_user_may_ask_it_to_resign(gateway):
    running = Running(gateway).start()
    token = int(running.solo.leadership.token)
    running.watch.show(Which.SWITCHOVER, token + 1, f'{{"candidate": "", "token": {token - 1}}}'.encode())
    running.watch.show(Which.SWITCHOVER, token + 2, f'{{"candidate": "", "token": {token}}}'.encode())
    stop = running.end()
    assert (stop.reason, stop.released, stop.exit_code) == (StopReason.SWITCHOVER, True, 0)


def test_it_does_not_start_beside_an_election(gateway):
    gateway.put(f"{LOCK.candidates}replica-1", b"{}")
    assert "has candidates (replica-1): stop them, or leave out --leader-elect=false" in Running(gateway).refusal()
    assert gateway.sent == []


def test_it_does_not_take_the_place_of_a_holder_that_nothing_fences(gateway):
    gateway.put(LOCK.lease, LeaderRecord(holder_identity="child", fenced=False).encode())
    assert "held by child, whose effects etcd can't fence" in Running(gateway).refusal()
    assert gateway.get(LOCK.term) is None
    gateway.put(LOCK.lease, LeaderRecord(holder_identity="", fenced=False).encode())
    running = Running(gateway).start()
    running.solo.request_stop()
    assert running.end().released


def test_an_acquire_whose_reply_is_lost_is_known_by_its_bytes(gateway):
    lost = []

    def lose(txn):
        if not lost and any(isinstance(op, Put) for op in txn.then):
            lost.append(txn)
            gateway.lose = 1

    gateway.before = lose
    running = Running(gateway).start()
    assert lost
    assert running.solo.leadership.token == gateway.get(LOCK.term).mod_revision
    assert record(gateway).leader_transitions == 0
    running.solo.request_stop()
    assert running.end().released


def test_another_that_comes_between_its_look_and_its_acquire_is_replaced(gateway):
    def come_first(txn):
        if any(isinstance(op, Put) for op in txn.then):
            gateway.before = lambda _: None
            gateway.put(LOCK.lease, LeaderRecord(holder_identity="quick").encode())
            gateway.put(LOCK.term, TermValue("quick", "x").encode())

    gateway.before = come_first
    running = Running(gateway).start()
    assert record(gateway).holder_identity == "me"
    assert running.solo.leadership.token == gateway.get(LOCK.term).mod_revision
    running.solo.request_stop()
    assert running.end().released


def broken(_leadership):
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("work", "config", "reason"),
    [
        (lambda _: None, {}, StopReason.WORK_RETURNED),
        (broken, {}, StopReason.WORK_RAISED),
        (lambda leadership: leadership.lost.wait(20.0), {"work_timeout": 0.05}, StopReason.WORK_HUNG),
    ],
)
def test_work_that_ends_by_itself_ends_the_term(gateway, work, config, reason):
    running = Running(gateway, work=work, **config)
    running.thread.start()
    stop = running.end()
    assert (stop.reason, stop.asked, stop.exit_code) == (reason, False, 1)
    assert len(running.errors) == (reason is StopReason.WORK_RAISED)


def test_work_that_does_not_drain_is_left_behind(gateway):
    running = Running(gateway, work=lambda leadership: leadership.lost.wait(30.0)).start()
    running.solo.request_stop()
    stop = running.end()
    assert (stop.reason, stop.released) == (StopReason.ASKED, True)


@pytest.mark.parametrize(
    ("tell", "reason", "released"),
    [
        (Solo.fail, StopReason.PART_FAILED, True),
        (Solo.lose_history, StopReason.HISTORY_LOST, False),
    ],
)
def test_a_process_that_is_broken_ends_it(gateway, tell, reason, released):
    running = Running(gateway).start()
    tell(running.solo)
    stop = running.end()
    assert (stop.reason, stop.released, stop.exit_code) == (reason, released, 1)


class Silent(MemoryGateway):
    """Answers reads and nothing else."""

    def send(self, txn, done, *, copy=0, timeout):
        if not txn.then:
            return super().send(txn, done, copy=copy, timeout=timeout)
        done(Unavailable("nobody is there"))
        return self

    def cancel(self):
        pass


def test_asked_to_stop_before_etcd_answers_it_was_nothing():
    running = Running(Silent())
    running.thread.start()
    running.solo.request_stop()
    stop = running.end()
    assert (stop.led, stop.released, stop.exit_code) == (False, False, 0)
    assert running.solo.leader == ""
