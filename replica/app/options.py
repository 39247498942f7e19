"""The flags of `replica run`: kube-scheduler's names where it has the same thing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from component.durations import DURATION

if TYPE_CHECKING:
    from collections.abc import Callable

REMOVED_LOCKS = ("endpoints", "configmaps", "endpointsleases", "configmapsleases")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the flags said. Durations are seconds; `identity` "" asks for `hostname_uuid`."""

    identity: str
    lease_duration: float
    renew_deadline: float
    retry_period: float
    resource_lock: str
    resource_name: str
    resource_namespace: str
    work_timeout: float
    drain_timeout: float
    exit_bound: float | None
    scheduler_name: str
    bind_address: str
    secure_port: int
    tls_cert_file: Path | None
    tls_private_key_file: Path | None
    logging_format: Literal["text", "json"]
    verbosity: int


def check_lock(_: click.Context, __: click.Parameter, value: str) -> str:
    """Only leases are left; what was removed is refused with what to use instead."""
    if value in REMOVED_LOCKS:
        raise click.BadParameter(f"{value!r} was removed: use 'leases', and delete the old lock when all replicas do")
    if value != "leases":
        raise click.BadParameter(f"{value!r} is no lock: use 'leases'")
    return value


_FLAGS: tuple[Callable[..., Any], ...] = (
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
        "--leader-elect-resource-lock", "resource_lock", default="leases", show_default=True, callback=check_lock,
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
        "--bind-address", default="127.0.0.1", show_default=True, help="Where health and metrics are served."
    ),
    click.option(
        "--secure-port", type=click.IntRange(0, 65535), default=10259, show_default=True, help="0: any free port."
    ),
    click.option(
        "--tls-cert-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), default=None,
        help="Serve TLS with this certificate.",
    ),
    click.option(
        "--tls-private-key-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), default=None,
        help="Its key.",
    ),
    click.option(
        "--logging-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
        help="Form of the log on stderr.",
    ),
    click.option("-v", "--v", "verbosity", type=click.IntRange(0, 10), default=0, show_default=True, help="Log level."),
)  # fmt: skip


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of `replica run` to a click command."""
    for flag in reversed(_FLAGS):
        command = flag(command)
    return command
