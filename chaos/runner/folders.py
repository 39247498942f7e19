"""Where a run makes its clusters. What one leaves that was killed goes at once, or else with the next run."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chaos.cluster.claim import claim
from chaos.cluster.sweeping import swept
from chaos.journal.journal import FILE
from component.console import note

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX: Final = "lockd-chaos-"
RUNNING: Final = "running"
"""A file that is there as long as a run is: what is left without it is left on purpose."""


@contextlib.contextmanager
def folder_of(given: Path | None, *, lingers: float) -> Iterator[Path]:
    """The folder of a run: the one that was given, or a temporary one, which goes unless something in it is to stay.

    Args:
        lingers: Seconds for which clusters may go on, and write, after this process was killed.

    Raises:
        OSError: It can't be made.
    """
    if given is not None:
        try:
            yield given.absolute()
        finally:
            leave_no_empty(given.absolute())
        return
    remove_abandoned(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=PREFIX)).absolute()
    try:
        with claim(folder), swept(folder, lasting=lingers):
            (folder / RUNNING).touch()
            try:
                yield folder
            finally:
                (folder / RUNNING).unlink(missing_ok=True)
    finally:
        leave_no_empty(folder)


def remove_abandoned(parent: Path) -> None:
    """Remove what runs of this user left here that were killed, and whatever was to sweep up after them, too."""
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or not folder.is_dir() or folder.stat().st_uid != os.getuid():
                continue
            with claim(folder) as free:
                if free and (folder / RUNNING).exists():
                    shutil.rmtree(folder, ignore_errors=True)


def leave_no_empty(folder: Path) -> None:
    """What a run made for itself is gone by now: what is still there tells of it, and stays."""
    with contextlib.suppress(OSError):
        folder.rmdir()
    if folder.exists() and not (folder / FILE).exists():
        note(f"logs are left in {folder}: remove them with: rm -r {shlex.quote(str(folder))}")
