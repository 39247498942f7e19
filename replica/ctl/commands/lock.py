"""`list`: the replicas, as patronictl lists them."""

from __future__ import annotations

from typing import Any

import click

from component.console import note, say
from component.tables import boxed
from lockd.flags import connection_options
from lockd.ports import LockName
from replica.api.names import name_problem
from replica.ctl import options
from replica.ctl.members import HEADERS, read_members
from replica.ctl.output import show
from replica.ctl.session import session


@click.command("list")
@click.option(
    "-n",
    "--namespace",
    type=options.NameType(name_problem),
    default="kube-system",
    show_default=True,
    help="Namespace of the lock.",
)
@click.option(
    "--name",
    type=options.NameType(name_problem),
    default="kube-scheduler",
    show_default=True,
    help="Name of the lock.",
)
@options.form("json", "yaml")
@connection_options
def list_replicas(*, namespace: str, name: str, form: str, **connected: Any) -> None:
    """List the replicas: who leads, by which fencing token, and who stands by."""
    with session("list", **connected) as here:
        found = read_members(here.gateway, LockName(here.prefix, namespace, name), timeout=here.timeout)
        now = here.now
    if form != "table":
        show(found.document(), form)
        return
    if not found.members:
        note(f"No replicas found for {namespace}/{name} under {found.lock.prefix}")
        return
    title = f"Lock: {namespace}/{name} (transitions: {found.transitions})"
    for line in boxed(title, HEADERS, [member.row(now) for member in found.members]):
        say(line)
