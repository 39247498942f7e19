"""How `replicactl` says what is wrong with manifests and objects; the rest is `lockd.session`'s."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, Final

from component import console
from component.console import FAILED, USAGE, leave, note
from component.progress import progress
from lockd.session import failures as store_failures
from replica.api.documents import write_yaml
from replica.api.manifests import ManifestError
from replica.ctl.applying import Refused
from replica.ctl.draining import DrainRefused
from replica.ctl.editing import Missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MANY: Final = 200
"""Steps that take a while."""


def show(document: Any, form: str) -> None:
    """A document as `json` or `yaml`: manifests keep their strings strings for every reader of YAML."""
    if form == "yaml":
        console.say(write_yaml(document), nl=False)
    else:
        console.show(document, form)


@contextlib.contextmanager
def counted(what: str, of: int) -> Iterator[Callable[[int], None]]:
    """A bar for `of` steps, for whom lines on stdout don't tell: there are many, and they go elsewhere."""
    if of < MANY or sys.stdout.isatty():
        yield lambda _done: None
        return
    with progress(quietly=True) as told:
        yield lambda done: told(what, done, of)


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """Turn what can go wrong into one line for each problem and the exit code for its kind."""
    with store_failures():
        try:
            yield
        except ManifestError as error:
            leave(error.problems, USAGE)
        except Refused as error:
            leave(error.problems, FAILED)
        except DrainRefused as error:
            leave(error.problems, FAILED)
        except Missing as error:
            note(f"Error from server (NotFound): {error}")
            raise SystemExit(FAILED) from error
