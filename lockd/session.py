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
from component.console import FAILED, TIMED_OUT, USAGE, leave
from lockd.errors import ConfigError, LockdError, OutcomeUnknown, StoreError
from lockd.etcd.classify import TIMED_OUT as DEADLINE
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from lockd.flags import refuse_kubernetes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from component.clock import Clock
    from lockd.etcd.connection import Connection

FLUSH: Final = 2.0
"""Seconds that spans may take at the end of a command."""


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
    def now(self) -> float:
        """Seconds since 1970, for display."""
        return self.clock.wall()


@contextlib.contextmanager
def session(
    service: str, command: str, connection: Connection, prefix: str, trace_file: Path | None
) -> Iterator[Session]:
    """A session for `command` of `service`, on a prefix that is not Kubernetes'. Failures become lines and a code."""
    clock = SystemClock()
    with failures():
        instance = f"{socket.gethostname()}_{os.getpid()}"
        spans = tracing.setup(service=service, instance=instance, trace_file=trace_file, clock=clock)
        gateway = Gateway(connection, purpose=service, witness=Witness(), clock=clock)
        try:
            with (
                tracing.attached(tracing.caller()),
                trace.get_tracer(service).start_as_current_span(f"{service} {command}"),
            ):
                refuse_kubernetes(gateway, prefix, timeout=connection.command_timeout)
                yield Session(gateway, prefix, connection.command_timeout, clock)
        finally:
            gateway.close()
            spans.shutdown(FLUSH)


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """Turn what can go wrong with etcd into one line for each problem and the exit code for its kind."""
    try:
        yield
    except ConfigError as error:
        leave(error.problems, USAGE)
    except OutcomeUnknown as error:
        leave((f"{error}: it may have been applied, or may still be: look, then run it again",), TIMED_OUT)
    except StoreError as error:
        leave((str(error),), TIMED_OUT if error.code == DEADLINE else FAILED)
    except LockdError as error:
        leave((str(error),), FAILED)
    except OSError as error:
        leave((f"{error.filename}: {error.strerror}" if error.filename else str(error),), FAILED)
