import threading

from chaos.runner.signals import Signals
from component.clock import SystemClock


def test_events_count_from_the_mark():
    signals = Signals()
    signals.happened("bind")
    mark = signals.mark()
    assert not signals.due("after", "bind", 1, mark)
    signals.happened("bind")
    assert signals.due("after", "bind", 1, mark)
    assert not signals.due("after", "bind", 2, mark)
    signals.happened("bind")
    assert signals.due("after", "bind", 2, mark)
    assert not signals.due("after", "renewal", 1, mark)


def test_a_condition_is_due_while_it_holds():
    signals = Signals()
    mark = signals.mark()
    assert not signals.due("when", "leader", 1, mark)
    signals.hold("leader", holds=True)
    assert signals.due("when", "leader", 1, mark)
    signals.hold("leader", holds=False)
    assert not signals.due("when", "leader", 1, mark)


def test_the_nth_time_that_a_condition_comes_to_hold():
    signals = Signals()
    signals.hold("bind-in-flight", holds=True)
    mark = signals.mark()
    signals.hold("bind-in-flight", holds=True)
    assert signals.due("when", "bind-in-flight", 1, mark)
    assert not signals.due("when", "bind-in-flight", 2, mark)
    signals.hold("bind-in-flight", holds=False)
    signals.hold("bind-in-flight", holds=True)
    assert signals.due("when", "bind-in-flight", 2, mark)
    assert not signals.due("when", "bind-in-flight", 3, mark)


def test_a_wait_ends_when_something_happens():
    clock, signals = SystemClock(), Signals()
    waiting = threading.Thread(target=signals.wait, args=(clock, 1e9))
    waiting.start()
    signals.happened("bind")
    waiting.join(20.0)
    assert not waiting.is_alive()
