"""The commands of `lockctl`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from component.console import OneLineGroup, leave, note, say, show
from component.tables import table
from lockd.ctl.elect import elect
from lockd.ctl.observe import observe
from lockd.ctl.options import SERVICE, lock_options
from lockd.ctl.resign import resign
from lockd.ports import LockName
from lockd.session import session
from lockd.status import HISTORY_HEADERS, STATUS_HEADERS, history_rows, read_history, read_status

if TYPE_CHECKING:
    from pathlib import Path

    from lockd.etcd.connection import Connection


@click.group("lockctl", cls=OneLineGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lockd")
def main() -> None:
    """Look at a lock, run a command only while holding one, and have its holder give it back."""


main.add_command(elect)
main.add_command(observe)
main.add_command(resign)


@main.command()
@lock_options
def status(
    name: str, *, namespace: str, form: str, connection: Connection, prefix: str, trace_file: Path | None
) -> None:
    """Show who holds the lock NAME."""
    with session(SERVICE, "status", connection, prefix, trace_file) as here:
        found = read_status(here.gateway, LockName(prefix, namespace, name), timeout=here.timeout)
        now = here.now
    if found is None:
        leave((f"no lock {namespace}/{name} under {prefix}: nobody has ever held it",), 1)
    if form == "table":
        say("\n".join(table(STATUS_HEADERS, [found.row(now)])))
    else:
        show(found.document(), form)
    if found.record is None:
        key = LockName(prefix, namespace, name).lease
        leave((f"{key} holds no election record: a candidate replaces it a lease duration after it first saw it",), 1)


@main.command()
@lock_options
def history(
    name: str, *, namespace: str, form: str, connection: Connection, prefix: str, trace_file: Path | None
) -> None:
    """Show the last terms of the lock NAME, oldest first."""
    with session(SERVICE, "history", connection, prefix, trace_file) as here:
        terms = read_history(here.gateway, LockName(prefix, namespace, name), timeout=here.timeout)
    if form != "table":
        show({"lock": f"{namespace}/{name}", "terms": terms}, form)
    elif terms:
        say("\n".join(table(HISTORY_HEADERS, history_rows(terms))))
    else:
        note(f"No terms found for {namespace}/{name} under {prefix}")
