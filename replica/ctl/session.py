"""One command's way to the stored objects."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from lockd import session as plain
from replica.ctl.output import failures
from replica.ctl.store import ObjectStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lockd.etcd.connection import Connection

SERVICE: Final = "replicactl"


class Session(plain.Session):
    """What a command works with."""

    @property
    def store(self) -> ObjectStore:
        return ObjectStore(self.gateway, prefix=self.prefix, timeout=self.timeout, clock=self.clock)


@contextlib.contextmanager
def session(command: str, connection: Connection, prefix: str, trace_file: Path | None) -> Iterator[Session]:
    """A session for `command`, on a prefix that is not Kubernetes'. Failures become one line and an exit code."""
    with plain.session(SERVICE, command, connection, prefix, trace_file) as here, failures():
        yield Session(here.gateway, here.prefix, here.timeout, here.clock)
