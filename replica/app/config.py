"""The configuration of a replica, complete and checked: every problem is reported at once."""

from __future__ import annotations

import socket
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from lockd.config import ElectionConfig
from lockd.errors import ConfigError
from lockd.ports import LockName
from replica.app.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lockd.etcd.connection import Connection
    from replica.app.options import Options


def new_identity() -> str:
    """`hostname_uuid`: unique to each process, also where two run on one host."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaConfig:
    """What a replica is set up from.

    Attributes:
        flags: Every flag with its value, for people; secrets left out.
    """

    election: ElectionConfig
    lock: LockName
    connection: Connection
    scheduler_name: str
    serving: Serving
    trace_file: Path | None
    logging_format: Literal["text", "json"]
    verbosity: int
    flags: Mapping[str, str] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        return self.lock.prefix


def complete(
    options: Options,
    connection: Connection,
    prefix: str,
    trace_file: Path | None,
    *,
    flags: Mapping[str, str] | None = None,
) -> ReplicaConfig:
    """Fill in what was left to us, and check it all.

    Raises:
        ConfigError: With every problem.
    """
    problems: list[str] = []
    if not options.scheduler_name:
        problems.append("--scheduler-name must not be empty")
    serving = None
    try:
        serving = Serving.of(
            bind_address=options.bind_address,
            secure_port=options.secure_port,
            tls_cert_file=options.tls_cert_file,
            tls_private_key_file=options.tls_private_key_file,
            tls_min_version=options.tls_min_version,
            client_ca_file=options.client_ca_file,
            token_auth_file=options.token_auth_file,
            authorization_always_allow_paths=options.authorization_always_allow_paths,
        )
    except ConfigError as error:
        problems.extend(error.problems)
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
    if problems or election is None or serving is None:
        raise ConfigError(tuple(problems))
    return ReplicaConfig(
        election=election,
        lock=LockName(prefix, election.namespace, election.name),
        connection=connection,
        scheduler_name=options.scheduler_name,
        serving=serving,
        trace_file=trace_file,
        logging_format=options.logging_format,
        verbosity=options.verbosity,
        flags=flags or {},
    )
