"""A folder for one run that goes with the run, even if that is killed: nobody is left then to remove it."""

from __future__ import annotations

import contextlib
import subprocess
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SCRIPT: Final = """
trap '' HUP INT TERM
read -r word && exit 0
for attempt in 1 2 3 4 5 6 7 8 9 10; do
    sleep 1
    rm -rf -- "$1" 2>/dev/null
    [ -e "$1" ] || exit 0
done
"""
"""Waits for a word. If input ends without one we were killed, and processes of ours may write for a moment still."""


@contextlib.contextmanager
def swept(folder: Path, *, wanted: bool = True) -> Iterator[None]:
    """Have a folder removed if this process is killed within the block; whoever leaves it sees to the folder itself.

    Args:
        wanted: Otherwise nothing is done.

    Raises:
        OSError: No process can be had for it.
    """
    if not wanted:
        yield
        return
    with subprocess.Popen(  # noqa: S603 - the script is ours, and the folder an argument of it
        ["/bin/sh", "-c", _SCRIPT, "sweeper", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as sweeper:
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                sweeper.communicate(b"leave it\n")
