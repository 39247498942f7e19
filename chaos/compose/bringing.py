"""Bringing a project up by the compose command, and taking it down: whatever happens, nothing of it stays."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

import chaos
from chaos.cluster.process import eventually
from chaos.compose import settings
from chaos.compose.command import TIMED_OUT, Refusal, find_compose
from chaos.compose.explaining import explained
from chaos.errors import Interrupted, NotStarted
from component.process import Child

if TYPE_CHECKING:
    from chaos.compose.project import Project
    from component.clock import Clock

FILE: Final = "compose.json"
SAID: Final = "compose.log"
"""What compose said."""

PULLING: Final = 600.0
"""Seconds that compose may take to bring a project up, pulling its images."""

GOING: Final = 120.0
"""Seconds that it may take to take one down."""

ENDING: Final = 5.0
"""Seconds that it may take to give up when it is asked to."""

STEP: Final = 0.05

SETTINGS: Final = Path(chaos.__file__).resolve().parent.parent / "compose" / ".env"
"""Of a source tree: which images take the place of the public ones."""


class Bringing:
    """One project. The compose command ends with this process, however that ends."""

    def __init__(self, project: Project, *, clock: Clock) -> None:
        """Write its file down.

        Raises:
            NotStarted: There is no compose that will do; one line with the remedy.
            OSError: The file can't be written.
        """
        self._project = project
        self._clock = clock
        self._file = project.plan.folder / FILE
        try:
            self._words = find_compose()
        except Refusal as refusal:
            raise NotStarted((str(refusal),), refusal.code) from refusal
        self._file.write_text(json.dumps(project.document(), indent=1) + "\n", encoding="utf-8")

    def up(self, stop: threading.Event) -> None:
        """Have all containers started. What was begun when it is given up may still come to be for a moment.

        Args:
            stop: Gives up.

        Raises:
            NotStarted: One can't be; one line with the remedy.
            Interrupted: `stop` was set.
        """
        self._compose("up", "--detach", "--no-build", within=PULLING, stop=stop)

    def down(self) -> None:
        """Remove them, their networks and their volumes.

        Raises:
            NotStarted: It can't be done.
        """
        self._compose("down", "--volumes", "--remove-orphans", "--timeout", "1", within=GOING, stop=threading.Event())

    def _compose(self, *words: str, within: float, stop: threading.Event) -> None:
        program, *rest = self._words
        command = [shutil.which(program) or program, *rest]
        command += ["--project-name", self._project.name, "--file", str(self._file), *words]
        log = self._file.with_name(SAID)
        begin = log.stat().st_size if log.exists() else 0
        made = Child(command, log=log, environment={**os.environ, "COMPOSE_INTERACTIVE_NO_CLI": "1"})
        try:
            code = self._await(made, words[0], within, stop)
        except BaseException:
            self._give_up(made)
            raise
        if code:
            refusal = explained(log.read_bytes()[begin:].decode(errors="replace"))
            raise NotStarted((" ".join(str(refusal).split()),), refusal.code)

    def _await(self, made: Child, word: str, within: float, stop: threading.Event) -> int:
        end = self._clock.now() + within
        while (code := made.exit_code) is None:
            if self._clock.wait(stop, STEP):
                raise Interrupted("stopped by a signal before the cluster was up; it is taken down")
            if self._clock.now() >= end:
                raise NotStarted((f"compose {word} did not end within {within:g} s",), TIMED_OUT)
        return code

    def _give_up(self, made: Child) -> None:
        """Have it end, and whatever it started: as a plugin of docker it is a process of docker's."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(made.pid, number)
            eventually(lambda: not made.process.alive, clock=self._clock, within=ENDING)
        made.kill()  # reaps it, so that its number was nobody else's until now


def image(variable: str, default: str) -> str:
    """The image that a variable names: in the environment, or in a source tree's compose/.env."""
    return settings.variable(variable, SETTINGS) or default
