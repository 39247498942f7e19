"""The command `replicactl`: objects as kubectl handles them, replicas as patronictl lists them."""

from __future__ import annotations

import click

from component.console import OneLineGroup
from replica.ctl.commands import importing, lock, looking, nodes, objects


@click.group("replicactl", cls=OneLineGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lockd")
def main() -> None:
    """Store pods, nodes and what else scheduling reads, look at them, and list the replicas that schedule."""


for _command in (
    objects.apply,
    objects.get,
    objects.delete,
    looking.describe,
    looking.events,
    looking.wait,
    nodes.cordon,
    nodes.uncordon,
    nodes.drain,
    nodes.taint,
    importing.import_trace,
    lock.list_replicas,
    lock.switchover,
    lock.history,
):
    main.add_command(_command)
