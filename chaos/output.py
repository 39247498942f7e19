"""What can go wrong with a command, and the exit code for each kind of it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import click

from chaos.errors import Interrupted, NoCluster, NotStarted, TooSlow
from component import console
from component.console import INTERRUPTED, TIMED_OUT, USAGE, leave
from lockd import session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

output_option = click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("table", "json", "yaml")),
    default="table",
    show_default=True,
    help="Form of the output.",
)


def show(document: Any, form: str, lines: Sequence[str]) -> None:
    """The document as JSON or YAML, or the lines that say the same to people."""
    if form == "table":
        console.say("\n".join(lines))
    else:
        console.show(document, form)


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """Turn what can go wrong into one line for each problem and the exit code for its kind."""
    with session.failures():
        try:
            yield
        except NoCluster as error:
            leave((str(error),), USAGE)
        except NotStarted as error:
            leave(error.problems, error.code)
        except Interrupted as error:
            leave((str(error),), INTERRUPTED)
        except TooSlow as error:
            leave((str(error),), TIMED_OUT)
