"""The options that lockctl's commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from component.options import with_options
from lockd.config import name_problems
from lockd.flags import connection_options

if TYPE_CHECKING:
    from collections.abc import Callable

SERVICE: Final = "lockctl"


class NameType(click.ParamType[str]):
    """A part of the lock's keys."""

    name = "name"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if problems := name_problems(param.name or "name" if param else "name", str(value)):
            self.fail("; ".join(problems), param, ctx)
        return str(value)


namespace = click.option(
    "-n", "--namespace", type=NameType(), default="kube-system", show_default=True, help="Of the lock."
)
lock_name = click.argument("name", type=NameType())


def form(*others: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """In which form to answer: a table, or one of the others."""
    return click.option("-o", "--output", "form", type=click.Choice(("table", *others)), default="table", help="Form.")


def lock_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """For what reads a lock: its name, kube-scheduler by default, the form, and where etcd is."""
    options = (
        click.argument("name", type=NameType(), default="kube-scheduler"),
        namespace,
        form("json", "yaml"),
        connection_options,
    )
    return with_options(command, options)
