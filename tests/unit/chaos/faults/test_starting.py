"""Starting an ended process again."""

import pytest

from chaos.cluster.interface import Target
from chaos.errors import NotStarted
from chaos.faults.errors import NotHealed
from chaos.faults.starting import start_again
from tests.harness.clock import ManualClock

TARGET = Target("etcd-1", "etcd-1", 1, 1, "127.0.0.1:1")


class Slow:
    """A cluster that takes an ended process for a running one a few times."""

    def __init__(self, times):
        self.times = times

    def start(self, target):
        self.times -= 1
        if self.times >= 0:
            raise NotStarted((f"{target.name} ended again at once",), 1)
        return target


class Waiting(ManualClock):
    """A clock on which waiting takes no time but its own."""

    def wait(self, stop, seconds):
        self.advance(seconds)
        return stop.is_set()


def test_it_is_tried_again():
    assert start_again(Slow(3), TARGET, clock=Waiting(), within=10.0) == TARGET


def test_not_for_ever():
    with pytest.raises(NotHealed, match="etcd-1 could not be started again: etcd-1 ended again at once"):
        start_again(Slow(10**9), TARGET, clock=Waiting(), within=10.0)
