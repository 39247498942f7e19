"""How `replicactl` says what is wrong with manifests and objects; the rest is `lockd.session`'s."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from component import console
from component.console import FAILED, USAGE, leave
from lockd.session import failures as store_failures
from replica.api.documents import write_yaml
from replica.api.manifests import ManifestError
from replica.ctl.applying import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator


def show(document: Any, form: str) -> None:
    """A document as `json` or `yaml`: manifests keep their strings strings for every reader of YAML."""
    if form == "yaml":
        console.say(write_yaml(document), nl=False)
    else:
        console.show(document, form)


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
