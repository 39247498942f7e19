from __future__ import annotations

import threading

import pytest

from lockd.errors import (
    Compacted,
    HistoryLost,
    NoSpace,
    OutcomeUnknown,
    PermissionDenied,
    Rejected,
    TooLarge,
    Unavailable,
)
from lockd.etcd.retry import persist, settle
from lockd.ports import Compare, Field, Get, Put, Txn, TxnReply

TXN = Txn((Compare("/k", Field.MOD, 1),), (Put("/k", b"mine"),), (Get("/k"),))
APPLIED = TxnReply(True, 7, ())
REFUSED = TxnReply(False, 8, ())
SILENT = None
SECOND = 1.0


class Clock:
    """Waiting is what moves it."""

    def __init__(self):
        self.moment = 100.0
        self.at = []
        """What happens when: (moment, action)."""

    def now(self):
        return self.moment

    def wall(self):
        return self.moment

    def wait(self, stop, seconds):
        end = self.moment + seconds
        while not stop.is_set() and self.at and self.at[0][0] <= end:
            self.moment, action = self.at.pop(0)
            action()
        if not stop.is_set():
            self.moment = end
        return stop.is_set()


class Gateway:
    """Answers each copy by a script: a reply or an error at once, (seconds, either), or silence."""

    def __init__(self, clock, *script):
        self.clock = clock
        self.script = list(script)
        self.sent = []
        self.open = set()

    def send(self, txn, done, *, copy=0, timeout):
        assert txn is TXN
        assert copy == len(self.sent)
        self.sent.append((self.clock.now() - 100.0, timeout))
        self.open.add(copy)
        answer = self.script[copy] if copy < len(self.script) else self.script[-1]
        delay, result = answer if isinstance(answer, tuple) else (0.0, answer)

        def arrive():
            if copy in self.open:
                self.open.discard(copy)
                done(result)

        if result is not SILENT:
            self.clock.at.append((self.clock.now() + delay, arrive))
            self.clock.at.sort(key=lambda at: at[0])
        return Sent(self, copy)


class Sent:
    def __init__(self, gateway, copy):
        self.gateway, self.copy = gateway, copy

    def cancel(self):
        self.gateway.open.discard(self.copy)


def run(*script, within=10 * SECOND, attempt=SECOND, stop=None):
    clock = Clock()
    gateway = Gateway(clock, *script)
    try:
        outcome = settle(gateway, TXN, clock=clock, stop=stop or threading.Event(), attempt=attempt, within=within)
    except Exception as error:  # noqa: BLE001  # the tests ask for its class
        outcome = error
    assert not gateway.open
    return outcome, gateway, clock.now() - 100.0


@pytest.mark.parametrize("reply", [APPLIED, REFUSED])
def test_either_branch_settles(reply):
    outcome, gateway, took = run(reply)
    assert outcome is reply
    assert len(gateway.sent) == 1
    assert took == 0


def test_a_silent_copy_stays_open_while_the_next_goes_out():
    outcome, gateway, took = run((1.5, APPLIED), SILENT)
    assert outcome is APPLIED  # of the first copy, after the second was sent
    assert [moment for moment, _ in gateway.sent] == [0.0, pytest.approx(1.0)]
    assert took == pytest.approx(1.5)


def test_the_first_applied_reply_of_any_copy_counts():
    outcome, gateway, _ = run(SILENT, SILENT, REFUSED)
    assert outcome is REFUSED
    assert len(gateway.sent) == 3


def test_every_copy_may_be_answered_until_the_end():
    _, gateway, _ = run(SILENT, within=3.5)
    assert [moment + timeout for moment, timeout in gateway.sent] == [pytest.approx(3.5)] * len(gateway.sent)


@pytest.mark.parametrize("error", [NoSpace("full"), PermissionDenied("no"), TooLarge("big"), Rejected("no")])
def test_a_definite_refusal_of_the_only_copy_settles(error):
    outcome, gateway, _ = run(error)
    assert outcome is error
    assert len(gateway.sent) == 1


@pytest.mark.parametrize("error", [NoSpace("full"), PermissionDenied("no"), Unavailable("down"), Rejected("no")])
def test_p5_a_definite_error_on_a_resend_does_not_settle_an_open_copy(error):
    outcome, _, took = run((3.0, APPLIED), error)
    assert outcome is APPLIED
    assert took == pytest.approx(3.0)


@pytest.mark.parametrize("error", [NoSpace("full"), PermissionDenied("no"), Unavailable("down"), Rejected("no")])
def test_p5_a_definite_error_on_a_resend_does_not_settle_a_copy_of_unknown_outcome(error):
    outcome, gateway, took = run(OutcomeUnknown("lost"), error)
    assert isinstance(outcome, OutcomeUnknown)
    assert took == pytest.approx(10.0)
    assert len(gateway.sent) > 5


def test_a_refusal_settles_when_all_copies_before_had_certainly_no_effect():
    refusal = NoSpace("full")
    outcome, gateway, _ = run(Unavailable("down"), Unavailable("down"), refusal)
    assert outcome is refusal
    assert len(gateway.sent) == 3


def test_an_unknown_outcome_is_resolved_by_the_next_copy():
    outcome, gateway, took = run(OutcomeUnknown("lost"), REFUSED)
    assert outcome is REFUSED
    assert len(gateway.sent) == 2
    assert took == 0  # an error needs no waiting for: the copy goes to another member


def test_without_any_effect_the_end_says_so():
    outcome, _, took = run(Unavailable("down"))
    assert type(outcome) is Unavailable
    assert "down" in str(outcome)
    assert took == pytest.approx(10.0)


def test_errors_that_come_at_once_do_not_make_a_storm():
    _, gateway, _ = run(Unavailable("down"), within=5.0)
    assert len(gateway.sent) < 15


def test_silence_to_the_end_is_unknown():
    outcome, _, took = run(SILENT, within=2.0)
    assert type(outcome) is OutcomeUnknown
    assert took == pytest.approx(2.0)


def test_a_lost_history_ends_it_at_once():
    lost = HistoryLost("restored")
    outcome, _, _ = run(SILENT, lost)
    assert outcome is lost


def test_a_stop_ends_it():
    clock, stop = Clock(), threading.Event()
    gateway = Gateway(clock, SILENT)
    clock.at.append((100.4, stop.set))
    with pytest.raises(OutcomeUnknown):
        settle(gateway, TXN, clock=clock, stop=stop, attempt=1.0, within=10.0)
    assert clock.now() - 100.0 < 1.0
    assert not gateway.open


def test_a_stop_before_the_first_copy_sends_none():
    stop = threading.Event()
    stop.set()
    outcome, gateway, _ = run(APPLIED, stop=stop)
    assert type(outcome) is Unavailable
    assert gateway.sent == []


# --- reads


def answers(*script):
    calls = []

    def once(attempt, timeout):
        calls.append((attempt, timeout))
        result = script[min(len(calls), len(script)) - 1]
        if isinstance(result, Exception):
            raise result
        return result

    return once, calls


def test_a_read_is_repeated_until_it_is_answered():
    once, calls = answers(Unavailable("down"), Unavailable("down"), "answer")
    assert persist(once, clock=Clock(), stop=threading.Event(), within=8.0, members=3) == "answer"
    assert calls == [(0, 2.0), (1, 4.0), (2, 8.0)]


@pytest.mark.parametrize("error", [Compacted("gone"), PermissionDenied("no"), HistoryLost("restored")])
def test_a_read_that_is_refused_is_not_repeated(error):
    once, calls = answers(error)
    with pytest.raises(type(error)):
        persist(once, clock=Clock(), stop=threading.Event(), within=8.0)
    assert len(calls) == 1


def test_a_read_ends_in_time():
    clock = Clock()
    once, _ = answers(Unavailable("down"))
    with pytest.raises(Unavailable, match="down"):
        persist(once, clock=clock, stop=threading.Event(), within=8.0)
    assert clock.now() == pytest.approx(108.0)


def test_a_read_pauses_after_each_round_through_the_members():
    clock = Clock()
    moments = []

    def once(_attempt, _timeout):
        moments.append(clock.now() - 100.0)
        raise Unavailable("down")

    with pytest.raises(Unavailable):
        persist(once, clock=clock, stop=threading.Event(), within=1.0, members=3)
    assert moments[:3] == [0.0, 0.0, 0.0]
    assert moments[3] >= 0.05
    assert len(moments) < 3 * 10


def test_a_stop_interrupts_the_pause():
    clock, stop = Clock(), threading.Event()
    clock.at.append((100.01, stop.set))
    once, calls = answers(Unavailable("down"))
    with pytest.raises(Unavailable):
        persist(once, clock=clock, stop=stop, within=60.0)
    assert len(calls) == 1
