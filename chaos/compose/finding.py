"""A compose project that is there already: named by a person, or by its file."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from chaos.compose.container import ROLE
from chaos.compose.files import project_of
from chaos.compose.roster import ETCD, USUAL, Roster, chosen
from chaos.errors import NoCluster

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from chaos.compose.container import Container
    from chaos.compose.engine import Engine

PREFIX: Final = "/lockd"
_FLAG: Final = "--prefix="
_VARIABLE: Final = "LOCKD_PREFIX"


@dataclass(frozen=True, slots=True)
class Found:
    """One project.

    Attributes:
        name: Of the project.
        roster: Who was who when it was found.
    """

    engine: Engine
    name: str
    roster: Roster

    @property
    def members(self) -> dict[str, str]:
        """Its etcd members, as they are dialled from here, and their services, which is what certificates are for.

        Raises:
            NoCluster: None can be.
        """
        dialled = {at: each.service for each in self.roster.members.values() if (at := each.dialled(USUAL[ETCD]))}
        if not dialled:
            raise NoCluster(
                f"no running container of the project {self.name!r} is labelled {ROLE}={ETCD}, and no etcd is named: "
                "label its members, or name it by --endpoints"
            )
        return dialled

    @property
    def prefix(self) -> str:
        """Of all its keys, as its replicas were told."""
        return prefix_of(self.roster.replicas.values())

    @property
    def flags(self) -> tuple[str, ...]:
        """Those of a replica, in the form `--name=value`."""
        return next((flags_of(each.command) for each in self.roster.replicas.values()), ())


def find(engine: Engine, *, project: str = "", file: Path | None = None) -> Found:
    """The project of a name or of a file.

    Raises:
        NoCluster: There is none, or nobody in it is labelled.
        EngineError: The engine can't be asked.
    """
    name = project_of(file, engine.containers()) if file is not None else project
    return Found(engine, name, chosen(engine.containers(name), name))


def prefix_of(replicas: Iterable[Container]) -> str:
    """The prefix that replicas were told: by a flag, else by a variable, else the usual one."""
    for each in replicas:
        for word in reversed(flags_of(each.command)):
            if word.startswith(_FLAG):
                return word.removeprefix(_FLAG)
        if each.environment.get(_VARIABLE):
            return each.environment[_VARIABLE]
    return PREFIX


def flags_of(command: Iterable[str]) -> tuple[str, ...]:
    """The flags in the words of a command, in the form `--name=value`, however they are written; a shell's line too."""
    found: list[str] = []
    waits = False
    for word in chain.from_iterable(map(_parts, command)):
        if word.startswith("--"):
            found.append(word)
        elif waits:
            found[-1] += f"={word}"
        waits = word.startswith("--") and "=" not in word
    return tuple(found)


def _parts(word: str) -> list[str]:
    """A word, or the words of a line for a shell."""
    try:
        return shlex.split(word) if " " in word else [word]
    except ValueError:
        return [word]  # a script that quotes otherwise
