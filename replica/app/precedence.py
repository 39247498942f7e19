"""What the flags and the file say together: the file decides, but for the flags of the leader election."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from component.strict import Seconds
from lockd.config import ElectionConfig
from lockd.errors import ConfigError
from replica.app import config_file
from replica.app.scheme import Configuration, LeaderElection, Profile

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from replica.app.options import Options

_ELECTION_FLAGS: Final[Mapping[str, type]] = {
    "leader_elect": bool,
    "lease_duration": Seconds,
    "renew_deadline": Seconds,
    "retry_period": Seconds,
    "resource_lock": str,
    "resource_name": str,
    "resource_namespace": str,
}
"""The options that are fields of `leaderElection`, and their types there."""

_PATHS: Final[Mapping[str, str]] = {
    "lease duration": "leaseDuration",
    "renew deadline": "renewDeadline",
    "retry period": "retryPeriod",
    "resource namespace": "resourceNamespace",
    "resource name": "resourceName",
}
"""How an election's problems begin -> the field of `leaderElection` that it stands for."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the flags and the file come to.

    Attributes:
        configuration: With a profile and its name.
        source: The file's name; "" without one.
        warnings: A line for each thing that changes nothing.
    """

    configuration: Configuration
    source: str = ""
    warnings: tuple[str, ...] = ()

    def name(self, problem: str) -> str:
        """A problem of the configuration, with where it was said."""
        return f"--config {self.source}: {problem}" if self.source else problem


def said_of(options: Options) -> Said:
    """The configuration.

    Raises:
        ConfigError: The file can't be used; with every problem.
    """
    if options.config is None:
        if not options.scheduler_name:
            raise ConfigError(("--scheduler-name must not be empty",))
        profile = Profile(scheduler_name=options.scheduler_name)
        election = LeaderElection(**_values(options, _ELECTION_FLAGS))
        return Said(Configuration(leader_election=election, profiles=(profile,)))
    file = config_file.read(options.config)
    election = replace(file.configuration.leader_election, **_values(options, options.given))
    warnings = list(file.warnings)
    if "scheduler_name" in options.given:
        warnings.append("--scheduler-name: --config decides, by profiles[].schedulerName")
    configuration = replace(file.configuration, leader_election=election).completed()
    return Said(configuration, file.source, tuple(warnings))


def election_of(options: Options, said: Said, identity: str) -> ElectionConfig:
    """The election's own configuration.

    Raises:
        ConfigError: With every problem, each with its path if there is a file.
    """
    election = said.configuration.leader_election
    try:
        return ElectionConfig(
            identity=identity,
            namespace=election.resource_namespace,
            name=election.resource_name,
            lease_duration=election.lease_duration,
            renew_deadline=election.renew_deadline,
            retry_period=election.retry_period,
            exit_bound=options.exit_bound,
            work_timeout=options.work_timeout,
            drain_timeout=options.drain_timeout,
            # What an extender does when it binds, etcd can't fence.
            fenced=not any(extender.bind_verb for extender in said.configuration.extenders),
        )
    except ConfigError as error:
        if not said.source:
            raise
        raise ConfigError(tuple(said.name(_with_path(problem)) for problem in error.problems)) from error


def _with_path(problem: str) -> str:
    field = next((path for start, path in _PATHS.items() if problem.startswith(start)), "")
    return f"leaderElection.{field}: {problem}" if field else problem


def _values(options: Options, names: Collection[str]) -> dict[str, Any]:
    return {name: kind(getattr(options, name)) for name, kind in _ELECTION_FLAGS.items() if name in names}
