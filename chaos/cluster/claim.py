"""The claim on a cluster's folder: who holds it may make or remove what lies there. It ends with its process."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def claim(folder: Path) -> Iterator[bool]:
    """Hold a folder for the length of a block; False: a living process holds it, and we don't.

    Raises:
        OSError: It can't be opened.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
