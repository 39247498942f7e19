"""The command `replica`: `replica run` and `replica healthcheck`."""

from __future__ import annotations

import click

from component.console import LazyGroup
from component.healthcheck import healthcheck_command


@click.group(
    "replica",
    cls=LazyGroup,
    later={"run": "replica.commands.run:run"},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="lockd")
def main() -> None:
    """A scheduler replica: one of several leads and schedules, the others stand by."""


main.add_command(healthcheck_command("--secure-port", 10259, asks="a replica"))
