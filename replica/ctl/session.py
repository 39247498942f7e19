"""One command's connection to etcd, from its options to its end."""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from opentelemetry import trace

from component import tracing
from component.clock import SystemClock
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from lockd.flags import refuse_kubernetes
from replica.ctl.output import failures
from replica.ctl.store import ObjectStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from component.clock import Clock
    from lockd.etcd.connection import Connection

SERVICE: Final = "replicactl"
FLUSH: Final = 2.0
"""Seconds that spans may take at the end of a command."""

_TRACER: Final = trace.get_tracer("replica.ctl")


@dataclass(frozen=True, slots=True)
class Session:
    """What a command works with.

    Attributes:
        timeout: Seconds after which it gives up waiting for etcd.
    """

    gateway: Gateway
    prefix: str
    timeout: float
    clock: Clock

    @property
    def store(self) -> ObjectStore:
        return ObjectStore(self.gateway, prefix=self.prefix, timeout=self.timeout, clock=self.clock)

    @property
    def now(self) -> float:
        """Seconds since 1970, for display."""
        return self.clock.wall()


@contextlib.contextmanager
def session(command: str, connection: Connection, prefix: str, trace_file: Path | None) -> Iterator[Session]:
    """A session for `command`, on a prefix that is not Kubernetes'. Failures become one line and an exit code."""
    clock = SystemClock()
    with failures():
        instance = f"{socket.gethostname()}_{os.getpid()}"
        spans = tracing.setup(service=SERVICE, instance=instance, trace_file=trace_file, clock=clock)
        gateway = Gateway(connection, purpose=SERVICE, witness=Witness(), clock=clock)
        try:
            with _TRACER.start_as_current_span(f"{SERVICE} {command}"):
                refuse_kubernetes(gateway, prefix, timeout=connection.command_timeout)
                yield Session(gateway, prefix, connection.command_timeout, clock)
        finally:
            gateway.close()
            spans.shutdown(FLUSH)
