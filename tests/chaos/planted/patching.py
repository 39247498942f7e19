"""Putting a bug into the code that is shipped, before it starts. What is not there any more takes none, and says so.

A bug is a module of this folder with a function `plant`, which patches, and is started by `python -m`: it takes the
place of `python -m replica` in a cluster (`Plan.program`), and runs the replica as it is but for that.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from replica.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Callable


class PatchError(Exception):
    """The code that a bug changes is not what it was when the bug was written."""


def patch(owner: Any, name: str, takes: str, make: Callable[[Any], Any]) -> None:
    """Put `make(what is there)` in the place of a function or class.

    Args:
        owner: The class or module that defines it, or uses it under that name.
        takes: The names of its parameters, as it is known.

    Raises:
        PatchError: There is none of that name, or it takes others.
    """
    present = vars(owner).get(name)
    if present is None:
        raise PatchError(f"{owner.__name__} has no {name} any more: the bug that was planted there is none")
    found = " ".join(inspect.signature(present).parameters)
    if found != takes:
        raise PatchError(f"{owner.__name__}.{name} takes ({found}), not ({takes}): see whether the bug is still one")
    setattr(owner, name, make(present))


def start(plant: Callable[[], None]) -> None:
    """Plant a bug, then be a replica."""
    plant()
    main()
