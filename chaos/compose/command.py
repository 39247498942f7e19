"""The compose command: which one is here, and whether it will do. It needs nothing but Python: tools use it as well."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILED = 1
USAGE = 2
TIMED_OUT = 3

ANSWERING = 60.0
"""Seconds that a command may take to tell its version."""

OLDEST_COMPOSE = (1, 28)
"""Before it there are no profiles."""


class Refusal(Exception):
    """What is wrong and what to do about it: one line on stderr."""

    def __init__(self, problem: str, remedy: str, *, code: int = FAILED) -> None:
        super().__init__(f"{problem}: {remedy}")
        self.code = code


def version_of(text: str) -> tuple[int, ...] | None:
    """The first version number in a program's answer."""
    found = re.search(r"\bv?(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part) for part in found.groups(default="0")) if found else None


def find_compose() -> tuple[str, ...]:
    """The words that begin a compose command: the plugin (v2), or docker-compose from 1.28 on."""
    old = ""
    for words in (("docker", "compose"), ("docker-compose",)):
        if shutil.which(words[0]) is None:
            continue
        try:
            asked = run([*words, "version"], timeout=ANSWERING)
        except subprocess.TimeoutExpired:
            old = f"{' '.join(words)} does not answer within {ANSWERING:g} s"
            continue
        version = version_of(asked.stdout) if asked.returncode == 0 else None
        if version is not None and version >= OLDEST_COMPOSE:
            return words
        if version is not None:
            old = f"{' '.join(words)} is {'.'.join(map(str, version))}, which is too old"
    remedy = "install the compose plugin (v2), or docker-compose 1.28 or newer (Debian: apt-get install docker-compose)"
    raise Refusal(old or "there is no docker compose here", remedy)


def run(command: Sequence[str], *, timeout: float) -> subprocess.CompletedProcess[str]:
    """Run a command and have what it said."""
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)  # noqa: S603 - docker's
