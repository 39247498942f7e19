"""The loop around the election, on a record store in memory: what it sends, tells and cancels, and in which order."""

from __future__ import annotations

import threading

import pytest

from component.clock import SystemClock
from lockd.config import ElectionConfig
from lockd.elector import Callbacks, Elector
from lockd.errors import HistoryLost, LeaseNotFound, NoSpace, Unavailable
from lockd.ports import Acquire, Put, Release, Renew
from lockd.signals import StopReason
from tests.harness.record_store import LOCK, MemoryRecordStore
from tests.harness.wait import eventually

CLOCK = SystemClock()
QUICK = {"lease_duration": 15.0, "renew_deadline": 10.0, "retry_period": 0.05}
SHORT = {"lease_duration": 2.0, "renew_deadline": 1.4}
"""For those that wait for the end of either."""


class Trouble(Exception):
    """What a test's work raises."""


class Run:
    """An elector on its thread."""

    def __init__(self, store, *, work=None, identity="a", clock=CLOCK, **settings):
        durations = {name: settings.pop(name) for name in tuple(settings) if name in ElectionConfig.__slots__}
        self.steps, self.gates, self.leaders, self.errors, self.degraded = [], [], [], [], []
        self.leadership = None

        def led(leadership):
            self.leadership = leadership
            if work is None:
                leadership.draining.wait(30.0)
            else:
                work(leadership)

        self.elector = Elector(
            ElectionConfig(identity=identity, **{**QUICK, **durations}),
            LOCK,
            store,
            clock=clock,
            callbacks=Callbacks(
                on_started_leading=led,
                on_gate=self.gates.append,
                on_new_leader=self.leaders.append,
                on_step=lambda before, after, now: self.steps.append((before, after, now)),
                on_work_error=self.errors.append,
                on_degraded=self.degraded.append,
                **settings,
            ),
        )
        self.stop = None
        self.thread = threading.Thread(target=self._run, name=f"elector {identity}", daemon=True)
        self.thread.start()

    def _run(self):
        self.stop = self.elector.run()

    def end(self):
        self.elector.request_stop()
        return self.ended()

    def ended(self):
        self.thread.join(10.0)
        assert not self.thread.is_alive()
        return self.stop


@pytest.fixture
def store():
    return MemoryRecordStore()


def leading(run):
    eventually(lambda: run.leadership is not None, within=5.0)
    return run.leadership


def of(store, kind):
    return [sent for sent in store.sent if isinstance(sent.transaction, kind)]


def test_it_leads_renews_and_releases(store):
    run = Run(store)
    leadership = leading(run)
    eventually(lambda: len(of(store, Renew)) >= 3, within=5.0)
    assert leadership.holds(CLOCK.now())
    stop = run.end()
    assert (stop.reason, stop.led, stop.released, stop.exit_code) == (StopReason.ASKED, True, True, 0)
    assert len(of(store, Acquire)) == 1
    assert of(store, Release)  # copies of one, on a busy machine
    assert leadership.guard.token == leadership.token
    assert leadership.lost.is_set()
    assert not leadership.holds(CLOCK.now())


def test_the_gate_counts_from_before_the_send(store):
    before = []
    store.before_send = lambda _: before.append(CLOCK.now())
    run = Run(store)
    leading(run)
    run.end()
    assert run.gates[0] <= before[0] + QUICK["renew_deadline"]


def test_a_renewal_that_was_late_has_its_gate_from_its_send(store):
    """A store that takes its time: the time it takes is not the term's."""
    pause = threading.Event()
    stamps = []

    def slow(sent):
        stamps.append(CLOCK.now())
        if isinstance(sent.transaction, Renew):
            pause.wait(0.1)

    store.before_send = slow
    run = Run(store)
    leading(run)
    eventually(lambda: len(run.gates) >= 3, within=5.0)
    run.end()
    for gate, stamp in zip(run.gates, stamps, strict=False):
        assert gate <= stamp + QUICK["renew_deadline"]


def test_the_work_is_told_before_the_release_is_sent(store):
    told = []

    def note(sent):
        if isinstance(sent.transaction, Release):
            told.append(run.leadership.lost.is_set())

    store.before_send = note
    run = Run(store)
    leading(run)
    run.end()
    assert told == [True]


def test_the_end_is_asked_for_before_it_comes(store):
    """Renewals go on while the work finishes what is in flight."""
    finish = threading.Event()
    drained = []

    def work(leadership):
        leadership.draining.wait(10.0)
        drained.append(leadership.lost.is_set())
        finish.wait(10.0)

    run = Run(store, work=work)
    leading(run)
    run.elector.request_stop()
    eventually(lambda: drained, within=5.0)
    renewed = len(of(store, Renew))
    eventually(lambda: len(of(store, Renew)) > renewed + 1, within=5.0)
    finish.set()
    assert run.ended().released
    assert drained == [False]


def test_work_that_does_not_finish_is_not_waited_for_longer_than_the_drain(store):
    run = Run(store, work=lambda leadership: leadership.lost.wait(30.0), drain_timeout=0.2)
    leading(run)
    stop = run.end()
    assert (stop.exit_code, stop.released) == (0, True)


def test_work_that_raises_ends_the_term_and_says_why(store):
    def work(_):
        raise Trouble

    run = Run(store, work=work)
    stop = run.ended()
    assert (stop.reason, stop.released, stop.exit_code) == (StopReason.WORK_RAISED, False, 1)
    assert [type(error) for error in run.errors] == [Trouble]
    assert not of(store, Release)


def test_work_without_progress_ends_the_term(store):
    run = Run(store, work=lambda leadership: leadership.lost.wait(30.0), work_timeout=0.3)
    assert run.ended().reason is StopReason.WORK_HUNG


def test_work_that_ticks_is_left_alone(store):
    def work(leadership):
        while not leadership.draining.wait(0.02):
            leadership.tick()

    run = Run(store, work=work, work_timeout=0.3)
    leadership = leading(run)
    began = CLOCK.now()
    eventually(lambda: CLOCK.now() - began > 0.7, within=5.0)
    assert not leadership.lost.is_set()
    run.end()


def test_a_refused_guard_ends_the_term_without_a_release(store):
    run = Run(store, retry_period=0.3)
    leading(run).fenced()
    assert run.leadership.lost.is_set()
    stop = run.ended()
    assert (stop.reason, stop.released) == (StopReason.FENCED, False)
    assert not of(store, Release)


def test_a_lost_reply_is_settled_by_the_identical_copy(store):
    store.lose_replies = 1
    run = Run(store)
    leading(run)
    first, second = store.sent[:2]
    assert first.transaction is second.transaction
    assert (first.copy, second.copy) == (0, 1)
    run.end()


def test_a_store_that_is_down_ends_the_term_at_the_gate(store):
    run = Run(store, **SHORT)
    leadership = leading(run)
    store.down = True
    stop = run.ended()
    assert (stop.reason, stop.exit_code, stop.released) == (StopReason.DEADLINE, 1, False)
    assert CLOCK.now() >= leadership.deadline
    assert of(store, Release)


def test_what_a_standby_has_in_flight_is_cancelled_at_its_end(store):
    store.refuse = 1000
    run = Run(store, **SHORT)
    eventually(lambda: of(store, Acquire), within=5.0)
    run.end()
    assert all(sent.wire.cancelled for sent in store.sent)


def test_what_is_in_flight_is_cancelled_at_the_end_but_a_release(store):
    """Nobody waits for that any more, but etcd may yet come to it."""
    run = Run(store)
    leading(run)
    eventually(lambda: of(store, Renew), within=5.0)
    run.end()
    assert all(sent.wire.cancelled is not isinstance(sent.transaction, Release) for sent in store.sent)
    assert of(store, Release)
    assert all(wire.cancelled for _, wire in store.sinks)


def test_the_release_carries_its_riders_the_same_in_each_copy(store):
    asked = []

    def riders(token):
        asked.append(token)
        return (Put("/lockd/events/kube-system/1", f"{len(asked)}".encode()),)

    def lose(sent):
        store.refuse = isinstance(sent.transaction, Release) and len(of(store, Release)) < 3

    store.before_send = lose
    run = Run(store, riders=riders, lease_duration=20.0)
    token = leading(run).token
    assert run.end().released
    assert asked == [token]
    assert {sent.riders for sent in of(store, Release)} == {(Put("/lockd/events/kube-system/1", b"1"),)}
    assert not any(sent.riders for sent in of(store, Renew))
    assert store.store.value("/lockd/events/kube-system/1") == b"1"


def test_a_rider_whose_etcd_lease_is_gone_keeps_no_release_from_being_made(store):
    def gone(sent):
        store.error = LeaseNotFound("requested lease not found") if sent.riders else None
        store.refuse = bool(sent.riders)

    store.before_send = gone
    run = Run(store, riders=lambda _: (Put("/lockd/events/kube-system/1", b"x", lease=7),), lease_duration=20.0)
    leading(run)
    assert run.end().released
    assert [len(sent.riders) for sent in of(store, Release)] == [1, 0]


def test_a_standby_follows_the_leader_and_takes_over(store):
    first = Run(store)
    leading(first)
    second = Run(MemoryRecordStore(store.store), identity="b")
    eventually(lambda: second.elector.leader == "a", within=5.0)
    assert second.leadership is None
    first.end()
    assert leading(second).token > first.leadership.token
    assert second.leaders[0] == "a"
    eventually(lambda: second.leaders[-1] == "b", within=5.0)
    second.end()


def test_a_process_that_can_t_go_on_releases(store):
    lease = 3.0
    run = Run(store, lease_duration=lease, renew_deadline=lease - 0.1)
    leading(run)
    began = CLOCK.now()
    eventually(lambda: CLOCK.now() - began > lease, within=60.0)
    run.elector.fail()
    stop = run.ended()
    assert (stop.reason, stop.exit_code, stop.released) == (StopReason.PART_FAILED, 1, True)


def test_one_that_fails_at_once_does_not_hand_its_trouble_on(store):
    run = Run(store, lease_duration=30.0)
    leading(run)
    run.elector.fail()
    assert not run.ended().released


def test_a_standby_that_can_t_go_on_ends_too(store):
    first = Run(store)
    leading(first)
    second = Run(MemoryRecordStore(store.store), identity="b")
    eventually(lambda: second.elector.leader == "a", within=5.0)
    second.elector.fail()
    stop = second.ended()
    assert (stop.reason, stop.led, stop.exit_code) == (StopReason.PART_FAILED, False, 1)
    first.end()


def test_a_restored_etcd_ends_it(store):
    run = Run(store)
    leading(run)
    run.elector.lose_history()
    stop = run.ended()
    assert (stop.reason, stop.exit_code, stop.released) == (StopReason.HISTORY_LOST, 1, False)


def test_a_read_that_finds_etcd_restored_ends_it(store):
    def read(done, *, timeout):
        done(HistoryLost("another history"))
        return store.watch(lambda _: None)

    store.read = read
    assert Run(store).ended().reason is StopReason.HISTORY_LOST


def test_trouble_with_etcd_is_told_once_and_so_is_its_end(store):
    store.down = True
    run = Run(store)
    eventually(lambda: run.degraded, within=5.0)
    reads = store.reads
    eventually(lambda: store.reads > reads + 2, within=5.0)
    assert len(run.degraded) == 1
    assert "etcd does not serve the election: no answer" in run.elector.trouble()
    store.down = False
    leading(run)
    assert run.degraded[1:] == [None]
    assert run.elector.trouble() is None
    run.end()


def test_a_read_that_is_answered_late_is_no_end_of_the_trouble_with_a_write(store):
    store.refuse, store.error = 10**6, NoSpace("database space exceeded")
    run = Run(store)
    eventually(lambda: run.degraded, within=5.0)
    run.elector._read()
    assert "database space exceeded" in run.elector.trouble()
    assert len(run.degraded) == 1
    store.refuse = 0
    leading(run)
    run.end()
    assert run.degraded[1:] == [None]


def test_what_is_cancelled_at_the_end_is_no_trouble_with_etcd(store):
    run = Run(store)
    leading(run)
    run.end()
    run.elector._answered = float("-inf")
    run.elector._note(Unavailable("cancelled"))
    assert run.degraded == []


def test_the_health_check_is_green_while_it_renews(store):
    run = Run(store)
    assert run.elector.check() is None
    leading(run)
    assert run.elector.check() is None
    run.end()


def test_every_step_is_told_with_what_was_and_what_is(store):
    run = Run(store)
    leading(run)
    run.end()
    for (_, after, _), (before, _, _) in zip(run.steps, run.steps[1:], strict=False):
        assert before.writes >= after.writes
    assert run.steps[-1][1].stopped == run.stop
