"""Keeps a connection to the leader and tells when its process is gone.

Proof is what the leader's kernel does, never what doesn't happen: the connection on which it had told its identity is
closed or reset by the other end, without a goodbye, and dialled once more nobody of that identity answers. A timeout,
an error of this process, a close of its own prove nothing.
"""

from __future__ import annotations

import contextlib
import os
import select
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from component import logs
from component.backoff import Backoff
from component.clock import LONGEST_WAIT
from lockd.presence.connection import Connection, End, OwnTroubleError, Patience, resolve

if TYPE_CHECKING:
    import socket
    import ssl
    import threading
    from collections.abc import Callable

    from component.clock import Clock

FIRST_DIAL = 2.0
"""Seconds in which the leader must have told its identity, before anything counts."""

SECOND_DIAL = 0.1
"""Seconds in which a leader whose connection broke must have told it again."""

_PAUSE = Backoff(initial=0.05, maximum=1.0)

_log = logs.get("lockd.presence")


@dataclass(frozen=True, slots=True)
class Target:
    """Whom the newest election record names, and where it listens; the anchor of its term is for telemetry only."""

    identity: str
    address: str
    traceparent: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of a connection that the other end broke off.

    Attributes:
        end: `closed` or `reset`.
        gone: Nobody of that identity answered; else it was withdrawn.
        began: When the end of the connection was read.
        ended: When it was clear.
        traceparent: The anchor of the leader's term.
    """

    identity: str
    end: End
    gone: bool
    began: float
    ended: float
    traceparent: str = field(default="", compare=False)


class Dialer:
    """One connection at a time, in one thread: `run`.

    Args:
        found: Told of each connection that was broken off and what came of it; must return at once.
    """

    def __init__(self, found: Callable[[Finding], None], *, tls: ssl.SSLContext | None, clock: Clock) -> None:
        self._found = found
        self._tls = tls
        self._clock = clock
        self._target: Target | None = None
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._stopping = False
        self._connected: Target | None = None

    @property
    def connected(self) -> Target | None:
        """To whom there is a connection on which the identity was told."""
        return self._connected

    def follow(self, target: Target | None) -> None:
        """From now on keep a connection to this one, or to nobody. From any thread; returns at once."""
        if target != self._target:
            self._target = target
            self._ring()

    def end(self) -> None:
        """Have `run` return."""
        self._stopping = True
        self._ring()

    def close(self) -> None:
        """Let go of what it holds, once `run` has returned."""
        bell, self._bell = self._bell, -1
        if bell >= 0:
            os.close(bell)

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set or `end` was called."""
        attempt, last = 0, None
        while not self._over(stop):
            target = self._target
            if target is None:
                self._wait(LONGEST_WAIT)
                continue
            attempt, last = (attempt if target == last else 0), target
            try:
                kept = self._follow(target, stop)
            except (OSError, ValueError, OwnTroubleError) as error:
                _log.debug("leader not dialled", leader=target.identity, address=target.address, error=str(error))
                kept = False
            attempt = 0 if kept else attempt + 1
            if self._target == target:
                self._wait(_PAUSE.delay(attempt))

    def _follow(self, target: Target, stop: threading.Event) -> bool:
        """One connection from its beginning to its end, and the ones that took its place; was there one?"""
        family, where = resolve(target.address)
        connection = self._dial(family, where, FIRST_DIAL)
        if connection is None:
            return False
        try:
            while connection is not None and connection.heard.identity == target.identity:
                self._connected = target
                end = self._keep(connection, target, stop)
                self._connected = None
                if end not in (End.CLOSED, End.RESET):
                    return end is None
                connection.close()
                connection = self._again(target, end, family, where)
            return False
        finally:
            self._connected = None
            if connection is not None:
                connection.close()

    def _keep(self, connection: Connection, target: Target, stop: threading.Event) -> End | None:
        """Wait for its end; None when it is of no use any more."""
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        poll.register(self._bell, select.POLLIN)
        while self._target == target and not self._over(stop):
            end = connection.read()
            if end is not None:
                return end
            poll.poll(LONGEST_WAIT * 1000)
            self._silence()
        return None

    def _again(
        self, target: Target, end: End, family: socket.AddressFamily, where: tuple[str, int]
    ) -> Connection | None:
        """Dial once more: a connection to the same process, or None and the finding that it is gone."""
        began = self._clock.now()
        again = self._dial(family, where, SECOND_DIAL)
        same = again is not None and again.heard.identity == target.identity
        if self._target == target:
            now = self._clock.now()
            self._found(Finding(target.identity, end, not same, began, now, target.traceparent))
        if again is not None and not same:
            again.close()
        return again if same else None

    def _dial(self, family: socket.AddressFamily, where: tuple[str, int], seconds: float) -> Connection | None:
        return Connection.dial(family, where, self._tls, Patience(seconds, self._clock))

    def _over(self, stop: threading.Event) -> bool:
        return self._stopping or stop.is_set()

    def _wait(self, seconds: float) -> None:
        """Until something changes, or so long."""
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        poll.poll(seconds * 1000)
        self._silence()

    def _ring(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # it rings already, or all is closed
            os.eventfd_write(self._bell, 1)

    def _silence(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._bell)
