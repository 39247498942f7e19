"""The configuration of a replica, complete and checked: every problem is reported at once."""

from __future__ import annotations

import socket
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lockd.config import ElectionConfig
from lockd.errors import ConfigError
from lockd.ports import LockName

if TYPE_CHECKING:
    from pathlib import Path

    from lockd.etcd.connection import Connection
    from replica.app.options import Options

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def new_identity() -> str:
    """`hostname_uuid`: unique to each process, also where two run on one host."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaConfig:
    """What a replica is set up from."""

    election: ElectionConfig
    lock: LockName
    connection: Connection
    scheduler_name: str
    bind_address: str
    secure_port: int
    certificate: tuple[Path, Path] | None
    trace_file: Path | None
    logging_format: Literal["text", "json"]
    verbosity: int

    @property
    def prefix(self) -> str:
        return self.lock.prefix


def complete(options: Options, connection: Connection, prefix: str, trace_file: Path | None) -> ReplicaConfig:
    """Fill in what was left to us, and check it all.

    Raises:
        ConfigError: With every problem.
    """
    problems: list[str] = []
    cert, key = options.tls_cert_file, options.tls_private_key_file
    if (cert is None) != (key is None):
        problems.append("--tls-cert-file and --tls-private-key-file go together: give both or none")
    if not options.scheduler_name:
        problems.append("--scheduler-name must not be empty")
    election = None
    try:
        election = ElectionConfig(
            identity=options.identity or new_identity(),
            namespace=options.resource_namespace,
            name=options.resource_name,
            lease_duration=options.lease_duration,
            renew_deadline=options.renew_deadline,
            retry_period=options.retry_period,
            exit_bound=options.exit_bound,
            work_timeout=options.work_timeout,
            drain_timeout=options.drain_timeout,
        )
    except ConfigError as error:
        problems.extend(error.problems)
    if problems or election is None:
        raise ConfigError(tuple(problems))
    return ReplicaConfig(
        election=election,
        lock=LockName(prefix, election.namespace, election.name),
        connection=connection,
        scheduler_name=options.scheduler_name,
        bind_address=options.bind_address,
        secure_port=options.secure_port,
        certificate=(cert, key) if cert is not None and key is not None else None,
        trace_file=trace_file,
        logging_format=options.logging_format,
        verbosity=options.verbosity,
    )
