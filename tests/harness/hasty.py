"""A clock that whoever waits moves on."""

from __future__ import annotations

from tests.harness.clock import ManualClock


class HastyClock(ManualClock):
    """A `component.clock.Clock` on which nobody waits in real time."""

    def wait(self, stop, seconds):
        self.advance(seconds)
        return stop.is_set()
