"""The flags of `replica run`: kube-scheduler's names where it has the same thing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from component.durations import DURATION, format_duration
from component.options import with_options
from replica.app.presence_flags import PRESENCE_FLAGS
from replica.app.refused import REFUSED_FLAGS
from replica.app.scheme import LEASES, lock_problem
from replica.app.serving import SERVING_FLAGS

if TYPE_CHECKING:
    from collections.abc import Callable

SECRETS = ("user", "password")
"""Flags whose value, or a part of it, is for nobody's eyes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the flags said. Durations are seconds; `identity` "" asks for `hostname_uuid`.

    Attributes:
        config: A `KubeSchedulerConfiguration` file: it decides, but for the flags of the leader election.
        write_config_to: Where to write what comes of it all, instead of running.
        given: The fields here that a flag was given for: the others hold defaults.
    """

    config: Path | None
    write_config_to: Path | None
    identity: str
    leader_elect: bool
    lease_duration: float
    renew_deadline: float
    retry_period: float
    resource_lock: str
    resource_name: str
    resource_namespace: str
    work_timeout: float
    drain_timeout: float
    exit_bound: float | None
    presence: bool
    presence_bind: str
    presence_advertise: str
    presence_cert_file: Path | None
    presence_key_file: Path | None
    presence_ca_file: Path | None
    scheduler_name: str
    pod_max_in_unschedulable_pods_duration: float
    bind_address: str
    secure_port: int
    tls_cert_file: Path | None
    tls_private_key_file: Path | None
    tls_min_version: str
    client_ca_file: Path | None
    token_auth_file: Path | None
    authorization_always_allow_paths: str
    logging_format: Literal["text", "json"]
    verbosity: int
    given: frozenset[str] = frozenset()


def check_lock(_: click.Context, __: click.Parameter, value: str) -> str:
    """Only leases are left; what was removed is refused with what to use instead."""
    if (problem := lock_problem(value)) is not None:
        raise click.BadParameter(problem)
    return value


class _Verbosity(click.IntRange):
    """As Go's flags have it: `-v=4` is `-v 4`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        written: Any = value.removeprefix("=") if isinstance(value, str) else value
        return int(super().convert(written, param, ctx))


_FILE = click.Path(dir_okay=False, path_type=Path)


_FLAGS: tuple[Callable[..., Any], ...] = (
    click.option(
        "--config", type=_FILE, default=None, metavar="FILE",
        help="A KubeSchedulerConfiguration. It decides; only the --leader-elect flags go before it.",
    ),
    click.option(
        "--write-config-to", type=_FILE, default=None, metavar="FILE",
        help="Write the configuration with all its defaults to this file, and exit.",
    ),
    click.option(
        "--leader-elect", type=bool, is_flag=False, flag_value="true", default=True, show_default=True,
        metavar="BOOL", help="false: schedule at once, without an election; the newest such process fences the others.",
    ),
    click.option(
        "--identity", default="", metavar="ID", help="Unique to this process.  [default: HOSTNAME_UUID]"
    ),
    click.option(
        "--leader-elect-lease-duration", "lease_duration", type=DURATION, default="15s", show_default=True,
        help="How long standbys wait after the last renewal they saw.",
    ),
    click.option(
        "--leader-elect-renew-deadline", "renew_deadline", type=DURATION, default="10s", show_default=True,
        help="How long the leader goes on after the last renewal it sent.",
    ),
    click.option(
        "--leader-elect-retry-period", "retry_period", type=DURATION, default="2s", show_default=True,
        help="Between renewals; a standby's fallback poll.",
    ),
    click.option(
        "--leader-elect-resource-lock", "resource_lock", default=LEASES, show_default=True, callback=check_lock,
        help="Only leases.",
    ),
    click.option(
        "--leader-elect-resource-name", "resource_name", default="kube-scheduler", show_default=True,
        help="Name of the lock.",
    ),
    click.option(
        "--leader-elect-resource-namespace", "resource_namespace", default="kube-system", show_default=True,
        help="Namespace of the lock.",
    ),
    click.option(
        "--leader-elect-work-timeout", "work_timeout", type=DURATION, default="20s", show_default=True,
        help="A leader whose scheduling loop makes no progress for so long stops.",
    ),
    click.option(
        "--drain-timeout", type=DURATION, default="5s", show_default=True,
        help="What binds in flight may take after SIGTERM.",
    ),
    click.option(
        "--exit-bound", type=DURATION, default=None,
        help="What stopping may take.  [default: min(2s, (lease duration - renew deadline) / 2)]",
    ),
    click.option(
        "--scheduler-name", default="default-scheduler", show_default=True,
        help="Pods that name this scheduler are ours.",
    ),
    click.option(
        "--pod-max-in-unschedulable-pods-duration", type=DURATION, default="5m", show_default=True,
        help="After so long a pod that nothing happened for is tried again.",
    ),
    *PRESENCE_FLAGS,
    *SERVING_FLAGS,
    click.option(
        "--logging-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
        help="Form of the log on stderr.",
    ),
    click.option("-v", "--v", "verbosity", type=_Verbosity(0, 10), default=0, show_default=True, help="Log level."),
    *REFUSED_FLAGS,
)  # fmt: skip


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of `replica run` to a click command."""
    return with_options(command, _FLAGS)


def given_names() -> frozenset[str]:
    """The parameters of the command that runs that were given, and don't hold a default."""
    context = click.get_current_context()
    default = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
    return frozenset(name for name in context.params if context.get_parameter_source(name) not in default)


def given_flags() -> dict[str, str]:
    """Every flag of the command that runs, and its value as text; secrets are left out."""
    context = click.get_current_context()
    found = {}
    for flag in context.command.params:
        if isinstance(flag, click.Option) and flag.hidden:
            continue
        name = max(flag.opts, key=len).lstrip("-")
        value = context.params.get(flag.name or "")
        if name in SECRETS and value:
            value = "<redacted>"
        elif flag.type is DURATION and value is not None:
            value = format_duration(value)
        elif isinstance(value, bool):
            value = str(value).lower()
        found[name] = "" if value is None else str(value)
    return found
