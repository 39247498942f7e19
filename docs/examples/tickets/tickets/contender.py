"""This process as one candidate for the lock: it leads, or stands by for whoever does."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from component.exit import Watchdog
from component.lifecycle import Group
from lockd.candidate import Candidate, Registration
from lockd.elector import Callbacks, Elector
from lockd.presence.presence import Presence
from lockd.record import display_time
from lockd.store import EtcdRecordStore
from lockd.telemetry import ElectionTelemetry

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from lockd.config import ElectionConfig
    from lockd.election import Election
    from lockd.etcd.gateway import Gateway
    from lockd.leadership import Leadership
    from lockd.ports import LockName
    from lockd.presence.config import PresenceConfig
    from lockd.signals import Stop

TICK = 0.5
"""Seconds between two signs of life of the work."""


class Contender:
    """Contends from `run` to its end.

    Args:
        gateway: For the election and nothing else.
    """

    def __init__(
        self, config: ElectionConfig, lock: LockName, presence: PresenceConfig, gateway: Gateway, clock: Clock
    ) -> None:
        self.watchdog = Watchdog(clock)
        self._config = config
        self._clock = clock
        self._group = Group("tickets", clock=clock)
        self._telemetry = ElectionTelemetry(config.identity, lock, clock)
        self._elector = Elector(
            config,
            lock,
            EtcdRecordStore(gateway, lock, clock=clock),
            clock=clock,
            callbacks=Callbacks(
                on_started_leading=self._lead,
                on_new_leader=self._telemetry.new_leader,
                on_gate=self._gate_moved,
                on_step=self._step,
                on_degraded=self._telemetry.degraded,
            ),
        )
        self._presence = Presence(config.identity, presence, self._elector.accuse, clock=clock)
        self._registration = Registration(
            gateway,
            lock,
            Candidate(
                identity=config.identity,
                hostname=socket.gethostname(),
                pid=os.getpid(),
                since=display_time(clock.wall()),
            ),
            lease_duration=config.lease_duration,
            clock=clock,
        )
        self.trouble: Callable[[], str | None] = self._elector.trouble
        self.request_stop = self._elector.request_stop

    @property
    def leader(self) -> str:
        """The identity known to lead; "" for none."""
        return self._elector.leader

    @property
    def term(self) -> Leadership | None:
        """The term of this process, while it may act."""
        leadership = self._elector.leadership
        return leadership if leadership is not None and leadership.holds(self._clock.now()) else None

    def run(self) -> Stop:
        """Stand by, lead, end."""
        self._elector.advertise(self._presence.listen())
        self._presence.start(self._group)
        self._group.spawn("candidate", self._registration.run, self._group.stop)
        stop = self._elector.run()
        if self._elector.election.bids_farewell:
            self._presence.say_goodbye()
        return stop

    def leave(self, seconds: float) -> None:
        """After `run`: tell the others if this process lives on though it was replaced, else that it is gone."""
        leadership, stop = self._elector.leadership, self._elector.election.stopped
        timeout = seconds / 4
        if leadership is not None and stop is not None and not stop.released:
            token, refused = int(leadership.token), leadership.refused
            if self._registration.mark(token, refused=refused, timeout=timeout):
                return
        self._registration.revoke(timeout=timeout)

    def _lead(self, leadership: Leadership) -> None:
        """The work of a term is done by whoever asks: all that is left is to show that the process lives."""
        while not (leadership.draining.is_set() or leadership.lost.is_set()):
            leadership.tick()
            self._clock.wait(leadership.draining, TICK)

    def _gate_moved(self, gate: float) -> None:
        """Whatever hangs, this process ends before another may lead."""
        self.watchdog.arm(gate + self._config.exit_seconds)

    def _step(self, before: Election, after: Election, now: float) -> None:
        self._presence.step(after)
        self._telemetry.step(before, after, now)
