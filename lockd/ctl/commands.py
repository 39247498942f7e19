"""The command `lockctl`: the lock, as etcdctl shows keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from component.console import OneLineGroup, leave, note, say, show
from component.tables import table
from lockd.config import name_problems
from lockd.flags import connection_options
from lockd.ports import LockName
from lockd.session import session
from lockd.status import HISTORY_HEADERS, STATUS_HEADERS, history_rows, read_history, read_status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lockd.etcd.connection import Connection

SERVICE: Final = "lockctl"


class NameType(click.ParamType[str]):
    """A part of the lock's keys."""

    name = "name"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if problems := name_problems(param.name or "name" if param else "name", str(value)):
            self.fail("; ".join(problems), param, ctx)
        return str(value)


def _lock_options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.argument("name", type=NameType(), default="kube-scheduler"),
        click.option(
            "-n", "--namespace", type=NameType(), default="kube-system", show_default=True, help="Of the lock."
        ),
        click.option(
            "-o", "--output", "form", type=click.Choice(("table", "json", "yaml")), default="table", help="Form."
        ),
        connection_options,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group("lockctl", cls=OneLineGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lockd")
def main() -> None:
    """Look at a lock: who holds it, by which fencing token, and who held it before."""


@main.command()
@_lock_options
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
@_lock_options
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
