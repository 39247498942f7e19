"""What all calls work with: etcd, the locks, and the streams that are open."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Protocol

from lockd.daemon.metrics import ServeMetrics
from lockd.daemon.terms import Terms
from lockd.etcd.gateway import Gateway
from lockd.lock_hub import LockHub

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from component.clock import Clock
    from component.lifecycle import Group
    from lockd.etcd.connection import Connection
    from lockd.etcd.witness import Witness


class Ending(Protocol):
    """A stream that can be told to end."""

    def leave(self) -> None:
        """lockd is going down."""
        ...


class Backend:
    """Shared by all calls. Thread-safe.

    Attributes:
        timeout: Seconds that a call may take which has no deadline of its own.
        trouble: Why etcd doesn't serve this process, as it was last seen; None when it does.
        metrics: Of all calls and elections.
        failed: Set when this process can't go on: etcd is not the one it knew.
    """

    def __init__(self, connection: Connection, prefix: str, *, witness: Witness, group: Group, clock: Clock) -> None:
        self.prefix = prefix
        self.clock = clock
        self.timeout = connection.command_timeout
        self.trouble: str | None = "etcd was not asked yet"
        self.failed = threading.Event()
        self._elections = Gateway(connection, purpose="elections", witness=witness, clock=clock)
        self.calls = Gateway(connection, purpose="calls", witness=witness, clock=clock)
        self.hub = LockHub(self._elections, clock=clock)
        self.terms = Terms(self.calls, clock=clock, stop=group.stop)
        self._group = group
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._streams: set[Ending] = set()
        self._leaving = False
        self.metrics = ServeMetrics(lambda: self.trouble is not None)

    def spawn(self, name: str, fn: Callable[[], object]) -> None:
        """Run `fn` in a thread of the daemon's."""
        self._group.spawn(f"{name}-{next(self._numbers)}", fn)

    def lose_history(self) -> None:
        """etcd was restored, wiped or exchanged: what this process knows is of another history."""
        self.failed.set()

    @contextmanager
    def streaming(self, stream: Ending) -> Iterator[None]:
        """Have the stream told when all are to end."""
        with self._lock:
            self._streams.add(stream)
            leaving = self._leaving
        if leaving:
            stream.leave()
        try:
            yield
        finally:
            with self._lock:
                self._streams.discard(stream)

    def leave(self) -> None:
        """Tell every stream, those that are yet to come too, that lockd is going down."""
        with self._lock:
            self._leaving = True
            streams = tuple(self._streams)
        for stream in streams:
            stream.leave()

    def close(self) -> None:
        """End all connections."""
        self.hub.close()
        self._elections.close()
        self.calls.close()
