"""Bringing a project up by the compose command, and taking it down: whatever happens, nothing of it stays."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import chaos
from chaos.compose.command import Refusal, find_compose
from chaos.compose.explaining import explained
from chaos.errors import NotStarted

if TYPE_CHECKING:
    from chaos.compose.project import Project

FILE: Final = "compose.json"
PULLING: Final = 600.0
"""Seconds that compose may take to bring a project up, pulling its images."""

GOING: Final = 120.0
"""Seconds that it may take to take one down."""

SETTINGS: Final = Path(chaos.__file__).resolve().parent.parent / "compose" / ".env"
"""Of a source tree: which images take the place of the public ones."""


class Bringing:
    """One project."""

    def __init__(self, project: Project) -> None:
        """Write its file down.

        Raises:
            NotStarted: There is no compose that will do; one line with the remedy.
            OSError: The file can't be written.
        """
        self._project = project
        self._file = project.plan.folder / FILE
        try:
            self._words = find_compose()
        except Refusal as refusal:
            raise NotStarted((str(refusal),), refusal.code) from refusal
        self._file.write_text(json.dumps(project.document(), indent=1) + "\n", encoding="utf-8")

    def up(self) -> None:
        """Have all containers started.

        Raises:
            NotStarted: One can't be; one line with the remedy.
        """
        self._compose("up", "--detach", "--no-build", within=PULLING)

    def down(self) -> None:
        """Remove them, their networks and their volumes.

        Raises:
            NotStarted: It can't be done.
        """
        self._compose("down", "--volumes", "--remove-orphans", "--timeout", "1", within=GOING)

    def _compose(self, *words: str, within: float) -> None:
        command = [*self._words, "--project-name", self._project.name, "--file", str(self._file), *words]
        # In a session of its own: Ctrl-C is ours to deal with.
        with subprocess.Popen(  # noqa: S603 - compose, and words of ours
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, "COMPOSE_INTERACTIVE_NO_CLI": "1"},
        ) as made:
            try:
                said, _ = made.communicate(timeout=within)
            except BaseException as error:
                made.kill()
                if isinstance(error, subprocess.TimeoutExpired):
                    raise NotStarted((f"compose {words[0]} did not end within {within:g} s",), 3) from error
                raise
        if made.returncode:
            refusal = explained(said)
            raise NotStarted((" ".join(str(refusal).split()),), refusal.code)


def image(variable: str, default: str) -> str:
    """The image that a variable names: in the environment, or in a source tree's compose/.env."""
    lines = SETTINGS.read_text(encoding="utf-8").splitlines() if SETTINGS.is_file() else []
    written = dict(line.split("=", 1) for line in lines if "=" in line)
    return os.environ.get(variable) or written.get(variable) or default
