"""How `replicactl` speaks: documents for machines on stdout, one clear line for whatever goes wrong on stderr."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click
import msgspec

from lockd.errors import ConfigError, LockdError, OutcomeUnknown, StoreError
from replica.api.documents import write_yaml
from replica.api.manifests import ManifestError
from replica.ctl.applying import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FAILED, USAGE, TIMED_OUT = 1, 2, 3

_TIMEOUTS: Final = ("DEADLINE_EXCEEDED",)


def show(document: Any, form: str) -> None:
    """A document as `json` or `yaml`."""
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=4).decode())
    else:
        click.echo(write_yaml(document), nl=False)


def note(line: str) -> None:
    """A line for whoever watches."""
    click.echo(line, err=True)


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """Turn what can go wrong into one line for each problem and the exit code for its kind."""
    try:
        yield
    except ConfigError as error:
        leave(error.problems, USAGE)
    except ManifestError as error:
        leave(error.problems, USAGE)
    except Refused as error:
        leave(error.problems, FAILED)
    except OutcomeUnknown as error:
        leave((f"{error}: it may have been applied, or may still be: look, then run it again",), TIMED_OUT)
    except StoreError as error:
        leave((str(error),), TIMED_OUT if error.code in _TIMEOUTS else FAILED)
    except LockdError as error:
        leave((str(error),), FAILED)


def leave(problems: Sequence[str], code: int) -> NoReturn:
    """Tell the problems and exit."""
    for problem in problems:
        note(f"error: {problem}")
    raise SystemExit(code)
