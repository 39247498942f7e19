import pytest

from chaos.runner.schedule import Planned
from chaos.runner.signals import Signals
from chaos.runner.track import Track


@pytest.fixture
def signals():
    return Signals()


def planned(trigger="next", **more):
    return Planned(fault="kill", role="leader", draw=0.0, trigger=trigger, **more)


def test_moments_count_from_the_trials_beginning(signals):
    track = Track([planned("at", at=2.0), planned("at", at=5.0, delay=1.0)], signals, 100.0)
    assert not track.ready(101.9)
    assert track.next_look(101.5) == 0.5
    assert track.ready(102.0)
    track.advance(104.0)
    assert not track.ready(105.9)
    assert track.ready(106.0)


def test_without_a_trigger_it_follows_the_one_before(signals):
    track = Track([planned(), planned(delay=1.0)], signals, 100.0)
    assert track.ready(100.0)
    track.advance(103.0)
    assert not track.ready(103.9)
    assert track.ready(104.0)
    track.advance(104.0)
    assert track.head is None
    assert not track.ready(200.0)
    assert not track.late(1e9, 1.0)


def test_events_count_from_the_firing_before(signals):
    track = Track([planned("after", what="bind"), planned("after", what="bind", nth=2)], signals, 0.0)
    assert track.next_look(1.0) == float("inf")
    signals.happened("bind")
    assert track.ready(1.0)
    track.advance(1.0)
    assert not track.ready(2.0)
    signals.happened("bind")
    assert not track.ready(3.0)
    signals.happened("bind")
    assert track.ready(4.0)


def test_a_delay_counts_from_the_event(signals):
    track = Track([planned("after", what="bind", delay=2.0)], signals, 0.0)
    signals.happened("bind")
    assert not track.ready(10.0)
    assert track.next_look(11.0) == 1.0
    assert track.ready(12.0)


def test_who_waits_too_long_is_late(signals):
    track = Track([planned("when", what="no-leader"), planned("at", at=500.0)], signals, 100.0)
    assert not track.late(159.0, 60.0)
    assert track.late(160.0, 60.0)
    track.advance(160.0)
    assert not track.late(600.0, 60.0)
    assert track.late(660.0, 60.0)
