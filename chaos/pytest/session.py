"""One run of pytest: its clusters, where they lie, and what is kept of them."""

from __future__ import annotations

import contextlib
import re
import shutil
from typing import TYPE_CHECKING, Final

import pytest

from chaos.pytest.backends import choose
from chaos.pytest.options import options_of
from chaos.pytest.pool import Pool
from component.process import Gone
from lockd.errors import ConfigError, LockdError

if TYPE_CHECKING:
    from pathlib import Path

    from chaos.pytest.case import Case
    from chaos.pytest.options import Options

_ODD: Final = re.compile(r"[^\w.\[\]-]+", re.ASCII)
_NUMBER: Final = re.compile(r"-1$")
LONGEST: Final = 120
"""Characters of a folder's name."""


class Session:
    """For one thread.

    Args:
        folder: For all of it; of this process alone.
    """

    def __init__(self, options: Options, folder: Path) -> None:
        self.options = options
        self._folder = folder
        self._clusters: list[Path] = []
        self._failed = False
        self.pool = Pool(choose(options), self._next_folder)

    def pytest_keyboard_interrupt(self) -> None:
        """Whatever waits on another thread gives up."""
        self.pool.stop.set()

    def keep(self, case: Case, problem: str, *, failed: bool = True) -> tuple[Path | None, str]:
        """Write down what shows how a test went, where nothing is kept yet.

        Returns:
            Where it is; None: nowhere, and why.
        """
        if failed:
            self.spare()
        name = _ODD.sub("-", case.name).strip("-")[-LONGEST:]
        try:
            folder = _new(self._folder / "kept" / name)
        except OSError as error:
            return None, str(error)
        try:
            return case.keep(folder, problem), ""
        except (LockdError, OSError, Gone) as error:
            with contextlib.suppress(OSError):
                folder.rmdir()  # nothing was written
            return None, str(error)

    def spare(self) -> None:
        """Leave the clusters' folders where they are: somebody was told to look there."""
        self._failed = True

    def close(self) -> None:
        """End all clusters. What nobody needs any more is removed."""
        self.pool.close()
        if not (self._failed or self.options.keep):
            for folder in self._clusters:
                shutil.rmtree(folder, ignore_errors=True)

    def _next_folder(self) -> Path:
        folder = _new(self._folder / "cluster-1")
        self._clusters.append(folder)
        return folder


def begun(config: pytest.Config, temporary: pytest.TempPathFactory) -> Session:
    """That of this process. What can't be meant fails each test that wants a cluster, in one line."""
    try:
        asked = options_of(config)
        worker = getattr(config, "workerinput", {}).get("workerid", "")
        return Session(asked, temporary.mktemp("ha") if asked.folder is None else asked.folder / worker)
    except ConfigError as error:
        pytest.fail(f"no cluster: {error}", pytrace=False)


def _new(folder: Path) -> Path:
    """A folder that was not there, of that name or with the next number.

    Raises:
        OSError: It can't be made.
    """
    number = 1
    made = folder
    while True:
        try:
            made.mkdir(parents=True)
        except FileExistsError:
            number += 1
            made = folder.with_name(f"{_NUMBER.sub('', folder.name)}-{number}")
        else:
            return made
