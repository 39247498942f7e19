"""How commands speak: documents for machines on stdout, one clear line for whatever goes wrong on stderr."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import click
import yaml

from chaos.errors import NoCluster, NotStarted, TooSlow
from lockd.errors import ConfigError, LockdError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FAILED, USAGE, TIMED_OUT, CHECK_FAILED = 1, 2, 3, 4

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
    if form == "json":
        click.echo(json.dumps(document, indent=2))
    elif form == "yaml":
        click.echo(yaml.safe_dump(document, sort_keys=False), nl=False)
    else:
        for line in lines:
            click.echo(line)


def note(line: str) -> None:
    """A line for whoever watches."""
    click.echo(line, err=True)


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """Turn what can go wrong into one line for each problem and the exit code for its kind."""
    try:
        yield
    except ConfigError as error:
        _leave(error.problems, USAGE)
    except NoCluster as error:
        _leave((str(error),), USAGE)
    except NotStarted as error:
        _leave(error.problems, error.code)
    except TooSlow as error:
        _leave((str(error),), TIMED_OUT)
    except LockdError as error:
        _leave((str(error),), FAILED)
    except OSError as error:
        _leave((f"{error.filename}: {error.strerror}" if error.filename else str(error),), FAILED)


def _leave(problems: Sequence[str], code: int) -> None:
    for problem in problems:
        note(f"chaosctl: {problem}")
    raise SystemExit(code)
