"""Options that several commands share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from lockd.errors import ConfigError
from replica.api.names import namespace_problem

if TYPE_CHECKING:
    from collections.abc import Callable


class NameType(click.ParamType[str]):
    """A name that becomes part of a key.

    Args:
        problem: Says what is wrong with a text, or None.
    """

    name = "name"

    def __init__(self, problem: Callable[[str], str | None]) -> None:
        self._problem = problem

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if (problem := self._problem(text)) is not None:
            self.fail(f"{text[:80]!r} {problem}", param, ctx)
        return text


files = click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE|DIR|-", help="Manifests: YAML or JSON; may be repeated."
)
recursive = click.option("-R", "--recursive", is_flag=True, help="Read the folders in folders too.")
namespace = click.option("-n", "--namespace", type=NameType(namespace_problem), help="Namespace.  [default: default]")
everywhere = click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="All namespaces.")
selector = click.option("-l", "--selector", metavar="SELECTOR", help="Labels: app=web,tier!=db,env in (a,b),!old.")


def _dry(_ctx: click.Context, _param: click.Parameter, value: str) -> bool:
    return value != "none"


dry_run = click.option(
    "--dry-run",
    type=click.Choice(("none", "client", "server")),
    is_flag=False,
    flag_value="server",
    default="none",
    show_default=True,
    callback=_dry,
    help="Check everything and say what would be done; client and server are the same here.",
)


field_selector = click.option(
    "--field-selector", "fields", metavar="SELECTOR", help="Fields: spec.nodeName=n1,status.phase!=Running."
)
watch = click.option("-w", "--watch", is_flag=True, help="Show each change from then on, until Ctrl-C.")
no_headers = click.option("--no-headers", is_flag=True, help="Leave out the tables' headers.")


def form(*choices: str) -> Callable[..., Callable[..., None]]:
    """`-o`, with its choices; a table by default."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(("table", *choices)),
        default="table",
        show_default=True,
        help="Form of the output.",
    )


def stdin() -> bytes:
    """All of standard input; ConfigError if it is closed."""
    if sys.stdin is None:
        raise ConfigError(("standard input is closed: give manifests with -f FILE, or a pipe to -f -",))
    return sys.stdin.buffer.read()
