"""How commands speak: documents for machines on stdout, one clear line for whatever goes wrong on stderr."""

from __future__ import annotations

import importlib
import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FAILED: Final = 1
USAGE: Final = 2
TIMED_OUT: Final = 3
CHECK_FAILED: Final = 4
INTERRUPTED: Final = 130
"""The exit code of a command that Ctrl-C ended."""


def say(text: str = "", *, nl: bool = True) -> None:
    """Text for stdout; what stdout's encoding doesn't have is escaped.

    Raises:
        SystemExit: It can't be written: told in one line, or not at all where the reader has left, as `head` does.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        click.echo(text.encode(encoding, "backslashreplace").decode(encoding), nl=nl)
    except BrokenPipeError:
        _abandon_stdout()
        raise SystemExit(FAILED) from None
    except OSError as error:
        _abandon_stdout()
        leave((f"can't write to standard output: {error.strerror}",), FAILED)


def show(document: Any, form: str) -> None:
    """A document as `json` or `yaml`."""
    if form == "json":
        say(_json(document))
    else:
        import yaml  # noqa: PLC0415 - half of what a health check would load

        say(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120), nl=False)


def note(line: str) -> None:
    """A line for whoever watches. Nobody is left to tell where it can't be written."""
    with suppress(OSError):
        click.echo(line, err=True)


def leave(problems: Sequence[str], code: int) -> NoReturn:
    """Tell the problems, one line each, and exit."""
    for problem in problems:
        note(f"error: {' '.join(problem.split())}")
    raise SystemExit(code)


class OneLineGroup(click.Group):
    """A group of commands whose usage errors are one line that names the option and where to read more.

    Its name is the program's, however that was started. Descriptors that are closed stand for /dev/null.
    """

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        run = super().main
        prog_name = prog_name or self.name
        if not standalone_mode:
            return run(args, prog_name, complete_var, standalone_mode=False, **extra)
        _open_standard_streams()
        try:
            code = run(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            note(error.format_message())
            code = error.exit_code
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx is not None else self.name
            note(f"error: {' '.join(error.format_message().split())} (see {path} --help)")
            code = error.exit_code
        except click.ClickException as error:
            note(f"error: {error.format_message()}")
            code = error.exit_code
        except (click.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except OSError as error:
            _abandon_stdout()
            note(f"error: {error.filename or 'output'}: {error.strerror or error}")
            code = FAILED
        raise SystemExit(code or 0)


class LazyGroup(OneLineGroup):
    """A group that imports a command only when that is run, or when all of them are listed.

    Args:
        later: The commands by name, each as `module:attribute`.
    """

    def __init__(self, *args: Any, later: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._later = later

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._later})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._later:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self._later[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


def _json(document: Any) -> str:
    """Indented JSON; escaped throughout if it holds half a surrogate pair, which UTF-8 doesn't have."""
    import msgspec  # noqa: PLC0415 - as above

    try:
        return msgspec.json.format(msgspec.json.encode(document), indent=4).decode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(document), indent=4)


def _abandon_stdout() -> None:
    """Let what is still buffered go nowhere, so that the interpreter's own flush at the end doesn't fail again."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _open_standard_streams() -> None:
    """Give closed descriptors 0 to 2 to /dev/null: else the next file or connection becomes one of them."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest that is free
