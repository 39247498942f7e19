"""The command group: usage errors in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended."""


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
