"""What the other replicas, and people, know of this one: its candidate key, and its presence."""

from __future__ import annotations

import os
import socket
import threading
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from lockd.candidate import Candidate, Registration
from lockd.presence.presence import Presence
from lockd.record import display_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from component.lifecycle import Group
    from lockd.election import Election
    from lockd.etcd.gateway import Gateway
    from lockd.leadership import Leadership
    from replica.app.config import ReplicaConfig

LONGEST_CALL: Final = 0.5
"""Seconds that a call about the candidate key may take of the exit bound, at most."""

MAKING_WAY: Final = 0.05
"""Seconds in which a leader that has released does nothing more. Its own end, a write of etcd's and the teardown of a
process, would otherwise go on beside the takeover, on the same members and often on the same host: a third of it."""


class Peers:
    """The candidate key and the presence of one replica, from before it stands by until its process ends.

    Args:
        gateway: For the candidate key.
        accuse: Given the identity of a leader whose process is gone.
    """

    def __init__(self, config: ReplicaConfig, gateway: Gateway, accuse: Callable[[str], None], *, clock: Clock) -> None:
        self._config = config
        self._gateway = gateway
        self._clock = clock
        self._registration: Registration | None = None
        self._presence: Presence | None = None
        if config.presence is not None:
            self._presence = Presence(config.election.identity, config.presence, accuse, clock=clock)

    @property
    def watches(self) -> str:
        """The identity of the leader that presence has a connection to; "" for none."""
        return self._presence.watches if self._presence is not None else ""

    def listen(self) -> str:
        """Take the presence's port; the address for the election record, "" without presence.

        Raises:
            CannotListen: As when the port is in use.
        """
        return self._presence.listen() if self._presence is not None else ""

    def start(self, group: Group, *, http: str) -> Candidate:
        """Let the others know, from now on."""
        candidate = Candidate(
            identity=self._config.election.identity,
            hostname=socket.gethostname(),
            pid=os.getpid(),
            since=display_time(self._clock.wall()),
            http=http,
            presence=self._presence.address if self._presence is not None else "",
            version=version("lockd"),
        )
        self._registration = Registration(
            self._gateway,
            self._config.lock,
            candidate,
            lease_duration=self._config.election.lease_duration,
            clock=self._clock,
        )
        group.spawn("candidate", self._registration.run, group.stop)
        if self._presence is not None:
            self._presence.start(group)
        return candidate

    def step(self, election: Election) -> None:
        """Watch over the leader that the election has seen."""
        if self._presence is not None:
            self._presence.step(election)

    def say_goodbye(self, election: Election) -> None:
        """At the end of the election: tell standbys, if the end of this process is not to count as evidence."""
        if self._presence is not None and election.bids_farewell:
            self._presence.say_goodbye()

    def leave(self, election: Election, leadership: Leadership | None, seconds: float) -> None:
        """Mark the candidate key if the term of this live process ended so that it must be told, else take it away.

        Args:
            leadership: The term that ended; None: it never led.
        """
        stopped, registration = election.stopped, self._registration
        if stopped is None or registration is None:
            return
        if stopped.released:
            self._clock.wait(threading.Event(), min(MAKING_WAY, seconds / 4))
        timeout = min(seconds / 4, LONGEST_CALL)
        if leadership is not None and not stopped.released:
            token, refused = int(leadership.token), leadership.refused
            if registration.mark(token, refused=refused, timeout=timeout):
                return
        if stopped.asked:
            registration.revoke(timeout=timeout)

    def end(self) -> None:
        """Watch over nobody any more."""
        if self._presence is not None:
            self._presence.end()

    def close(self) -> None:
        """End the connections of those who watch over this replica, as the end of a process does."""
        if self._presence is not None:
            self._presence.close()
