"""How commands speak: documents for machines on stdout, one clear line for whatever goes wrong on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

import click
import msgspec
import yaml

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILED: Final = 1
USAGE: Final = 2
TIMED_OUT: Final = 3
CHECK_FAILED: Final = 4
INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended."""


def show(document: Any, form: str) -> None:
    """A document as `json` or `yaml`."""
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=4).decode())
    else:
        click.echo(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120), nl=False)


def note(line: str) -> None:
    """A line for whoever watches."""
    click.echo(line, err=True)


def leave(problems: Sequence[str], code: int) -> NoReturn:
    """Tell the problems, one line each, and exit."""
    for problem in problems:
        note(f"error: {' '.join(problem.split())}")
    raise SystemExit(code)


class OneLineGroup(click.Group):
    """A group of commands whose usage errors are one line that names the option and where to read more."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        run = super().main
        if not standalone_mode:
            return run(args, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            code = run(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx is not None else self.name
            click.echo(f"error: {' '.join(error.format_message().split())} (see {path} --help)", err=True)
            code = error.exit_code
        except click.ClickException as error:
            click.echo(f"error: {error.format_message()}", err=True)
            code = error.exit_code
        except click.Abort:
            code = INTERRUPTED
        raise SystemExit(code or 0)
