"""The command `lockd`: `lockd serve` and `lockd healthcheck`."""

from __future__ import annotations

import click

from component.console import LazyGroup
from component.healthcheck import healthcheck_command


@click.group(
    "lockd",
    cls=LazyGroup,
    later={"serve": "lockd.daemon.serve:serve"},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="lockd")
def main() -> None:
    """The lock on etcd as a service, for programs in any language."""


main.add_command(healthcheck_command("--http-port", 7601, asks="a lockd, at the port of its --http-listen,"))
