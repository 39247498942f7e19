"""Which project a compose file is that of: by what compose wrote on the containers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from chaos.compose.container import FILES, FOLDER
from chaos.errors import NoCluster

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chaos.compose.container import Container


def project_of(file: Path, containers: Iterable[Container]) -> str:
    """The project whose containers were made from a file.

    Raises:
        NoCluster: None was, or those of several projects were.
    """
    found = sorted({each.project for each in containers if each.project and _real(file) in _made_from(each)})
    if not found:
        raise NoCluster(f"no container was made from {file}: bring it up first, docker compose -f {file} up -d")
    if len(found) > 1:
        raise NoCluster(f"{file} is that of several projects: name one by --project: {', '.join(found)}")
    return found[0]


def _made_from(container: Container) -> list[str]:
    folder = Path(container.labels.get(FOLDER, "/"))
    return [_real(folder / name) for name in container.labels.get(FILES, "").split(",") if name]


def _real(file: Path) -> str:
    """One name for a file, by whatever way it was reached."""
    return os.path.realpath(file)
