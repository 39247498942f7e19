"""A folder for one run that goes with the run, even if that is killed: nobody is left then to remove it."""

from __future__ import annotations

import contextlib
import math
import subprocess
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SCRIPT: Final = """
trap '' HUP INT TERM
read -r word && exit 0
look=0
while [ "$look" -lt $(($2 + 10)) ]; do
    sleep 1
    look=$((look + 1))
    rm -rf -- "$1" 2>/dev/null
    [ -e "$1" ] || [ "$look" -lt "$2" ] || exit 0
done
"""
"""Waits for a word. If input ends without one we were killed, and processes of ours may write for a moment still."""


@contextlib.contextmanager
def swept(folder: Path, *, lasting: float = 0.0) -> Iterator[None]:
    """Have a folder removed if this process is killed within the block; whoever leaves it sees to the folder itself.

    Args:
        lasting: Seconds for which something may come to be there again, such as what a container writes that nobody
            has removed yet.

    Raises:
        OSError: No process can be had for it.
    """
    with subprocess.Popen(  # noqa: S603 - the script is ours, and the folder an argument of it
        ["/bin/sh", "-c", _SCRIPT, "sweeper", str(folder), str(math.ceil(lasting))],
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
