"""The configuration of a replica, complete and checked: every problem is reported at once."""

from __future__ import annotations

import socket
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from lockd.errors import ConfigError
from lockd.ports import LockName
from lockd.presence.config import PresenceConfig
from replica.app.precedence import election_of, said_of
from replica.app.profiles import problems_of, spelled_out, warnings_of
from replica.app.scheme import Configuration
from replica.app.serving import Serving
from replica.plugins.in_tree import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from lockd.config import ElectionConfig
    from lockd.etcd.connection import Connection
    from replica.app.options import Options

T = TypeVar("T")

DEFAULTS: Final = Configuration().completed()


def new_identity() -> str:
    """`hostname_uuid`: unique to each process, also where two run on one host."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaConfig:
    """What a replica is set up from.

    Attributes:
        scheduler: The scheduler's own part, every default in it said.
        unschedulable_seconds: After which a pod is tried again that nothing happened for.
        warnings: What was said and changes nothing: a line each, with why.
        flags: Every flag with its value, for people; secrets left out.
        presence: None: it neither listens for standbys nor takes over early.
    """

    election: ElectionConfig
    lock: LockName
    connection: Connection
    serving: Serving
    trace_file: Path | None
    logging_format: Literal["text", "json"]
    verbosity: int
    scheduler: Configuration = DEFAULTS
    unschedulable_seconds: float = 300.0
    warnings: tuple[str, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)
    presence: PresenceConfig | None = None

    @property
    def scheduler_name(self) -> str:
        """Who reports what is about no pod: the first profile."""
        return self.scheduler.profiles[0].scheduler_name

    @property
    def leader_elect(self) -> bool:
        """Is there an election, or does this process lead by itself?"""
        return self.scheduler.leader_election.leader_elect

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
    serving = _noting(problems, lambda: _serving_of(options))
    said = _noting(problems, lambda: said_of(options))
    plugins = registry().discover()
    presence = _noting(problems, lambda: _presence_of(options)) if options.presence else None
    election = None
    if said is not None:
        election = _noting(problems, lambda: election_of(options, said, options.identity or new_identity()))
        problems += [said.name(problem) for problem in problems_of(said.configuration, plugins)]
    if problems or serving is None or said is None or election is None:
        raise ConfigError(tuple(problems))
    scheduler = spelled_out(said.configuration, plugins)
    return ReplicaConfig(
        election=election,
        lock=LockName(prefix, election.namespace, election.name),
        connection=connection,
        serving=serving,
        trace_file=trace_file,
        logging_format=options.logging_format,
        verbosity=options.verbosity,
        scheduler=scheduler,
        unschedulable_seconds=options.pod_max_in_unschedulable_pods_duration,
        warnings=(*said.warnings, *warnings_of(scheduler)),
        flags=flags or {},
        presence=presence,
    )


def _serving_of(options: Options) -> Serving:
    return Serving.of(
        bind_address=options.bind_address,
        secure_port=options.secure_port,
        tls_cert_file=options.tls_cert_file,
        tls_private_key_file=options.tls_private_key_file,
        tls_min_version=options.tls_min_version,
        client_ca_file=options.client_ca_file,
        token_auth_file=options.token_auth_file,
        authorization_always_allow_paths=options.authorization_always_allow_paths,
    )


def _presence_of(options: Options) -> PresenceConfig:
    return PresenceConfig.of(
        options.presence_bind,
        options.presence_advertise,
        options.presence_cert_file,
        options.presence_key_file,
        options.presence_ca_file,
    )


def _noting(problems: list[str], make: Callable[[], T]) -> T | None:
    """What `make` makes, or None and its problems noted."""
    try:
        return make()
    except ConfigError as error:
        problems += error.problems
        return None
