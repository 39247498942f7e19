"""The options that say what the clusters of a run are made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from chaos.backend.local import LocalBackend
from chaos.compose.access import OPTIONS, PUBLISHED, Access
from chaos.compose.finding import flags_of
from chaos.scenario.backends import BACKENDS, COMPOSE, LOCAL
from chaos.scenario.model import Configuration
from component.options import with_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.backend.interface import Backend
    from chaos.compose.finding import Found

F = TypeVar("F", bound="Callable[..., Any]")


@dataclass(slots=True)
class Chosen:
    """What was asked for.

    Attributes:
        name: Of the backend.
        project, file: Of a compose project that is there already, if one is named.
        etcd: How that project's etcd is reached.
    """

    name: str
    project: str = ""
    file: Path | None = None
    etcd: Access = PUBLISHED
    _found: Found | None = None

    def backend(self) -> Backend:
        """The backend itself.

        Raises:
            NoCluster: The project is not there, or nobody in it is labelled.
            EngineError: The Docker engine can't be asked.
        """
        if self.name == LOCAL:
            return LocalBackend()
        # What local runs don't need is not loaded for them.
        from chaos.backend.adopted import AdoptedBackend  # noqa: PLC0415
        from chaos.backend.compose import ComposeBackend  # noqa: PLC0415
        from chaos.compose.engine import DockerEngine  # noqa: PLC0415
        from chaos.compose.finding import find  # noqa: PLC0415

        engine = DockerEngine()
        if not self.project and self.file is None:
            return ComposeBackend(engine)
        self._found = find(engine, project=self.project, file=self.file)
        return AdoptedBackend(self._found, self.etcd)

    def flags(self) -> tuple[str, ...]:
        """Those by which the replicas of a project were started that is there already; none otherwise."""
        return self._found.flags if self._found is not None else ()

    def unmet(self, wanted: Configuration) -> tuple[str, ...]:
        """What a scenario asks of its cluster that a project which is there already is not; none otherwise."""
        if self._found is None:
            return ()
        roster, usual = self._found.roster, Configuration()
        counted = (
            ("replicas", wanted.replicas, usual.replicas, len(roster.replicas)),
            ("etcd members", wanted.etcd, usual.etcd, len(roster.members)),
            ("lockd", wanted.daemons, usual.daemons, len(roster.daemons)),
        )
        problems = [
            f"{count} {what}, of {there}" for what, count, default, there in counted if count > max(default, there)
        ]
        problems += [f"the flag {flag}" for flag in flags_of(wanted.flags) if flag not in self._found.flags]
        return tuple(problems)

    def words(self) -> list[str]:
        """As a command line says it."""
        words = [f"--backend={self.name}"]
        words += [f"--project={self.project}"] if self.project else []
        words += [f"--compose-file={self.file}"] if self.file is not None else []
        return words + self.etcd.words()


def backend_options(command: F) -> F:
    """Give a command those options, as `chosen` (Chosen)."""
    return with_options(command, _OPTIONS, _chosen)


def _chosen(values: dict[str, Any]) -> dict[str, Any]:
    name, project, file = (values.pop(each) for each in ("backend", "project", "file"))
    if project and file is not None:
        raise click.UsageError("--project and --compose-file name the same thing: give one of them")
    etcd = Access.taken(values)
    adopted = bool(project) or file is not None
    if adopted and name == LOCAL:
        raise click.UsageError("a compose project is no local cluster: leave --backend local out")
    if not adopted and not etcd.is_usual:
        given = " ".join(word.partition("=")[0] for word in etcd.words())
        raise click.UsageError(
            f"{given}: a cluster that is made has an etcd of its own: name a --project that is there"
        )
    return {"chosen": Chosen(name or (COMPOSE if adopted else LOCAL), project, file, etcd)}


_OPTIONS: Final = (
    click.option(
        "--backend",
        type=click.Choice(BACKENDS),
        help=f"What clusters are made of; by default {LOCAL}: processes of this host.",
    ),
    click.option(
        "--project", default="", metavar="NAME", help="Hurt this compose project, which is there already, and stays."
    ),
    click.option(
        "--compose-file",
        "file",
        type=click.Path(dir_okay=False, exists=True, path_type=Path),
        help="The same, by its file.",
    ),
    *OPTIONS,
)
