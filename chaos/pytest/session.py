"""One run of pytest: its clusters, where they lie, and what is kept of them."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Final

from chaos.pytest.backends import choose
from chaos.pytest.pool import Pool
from lockd.errors import LockdError

if TYPE_CHECKING:
    from pathlib import Path

    from chaos.pytest.case import Case
    from chaos.pytest.options import Options

_ODD: Final = re.compile(r"[^\w.\[\]-]+", re.ASCII)
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
        """Write down what shows how a test went.

        Returns:
            Where it is; None: nowhere, and why.
        """
        self._failed = self._failed or failed
        name = _ODD.sub("-", case.name).strip("-")[-LONGEST:]
        try:
            return case.keep(self._folder / "kept" / name, problem), ""
        except (LockdError, OSError) as error:
            return None, str(error)

    def close(self) -> None:
        """End all clusters. What nobody needs any more is removed."""
        self.pool.close()
        if not (self._failed or self.options.keep):
            for folder in self._clusters:
                shutil.rmtree(folder, ignore_errors=True)

    def _next_folder(self) -> Path:
        number = 1
        while True:
            folder = self._folder / f"cluster-{number}"
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                number += 1
            else:
                self._clusters.append(folder)
                return folder
