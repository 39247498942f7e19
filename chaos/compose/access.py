"""How the etcd of a project that is there already is reached: what a person says of it, else what is published."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import click

from lockd.errors import ConfigError
from lockd.etcd.connection import DEFAULT_ENDPOINTS, Connection, listed
from lockd.etcd.tls import credentials

if TYPE_CHECKING:
    from chaos.compose.finding import Found

_FILES: Final = ("cacert", "cert", "key")
_FILE: Final = click.Path(dir_okay=False, path_type=Path)

OPTIONS: Final = (
    click.option(
        "--endpoints", metavar="HOST:PORT,...", default="", help="A project's etcd; by default where it can be dialled."
    ),
    click.option("--cacert", type=_FILE, help="Authorities that its certificate must be of."),
    click.option("--cert", type=_FILE, help="Client certificate for it."),
    click.option("--key", type=_FILE, help="The client certificate's key."),
)
"""The flags of a command that say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What was said of it.

    Attributes:
        endpoints: None of them: where the members can be dialled from here.
        cacert, cert, key: PEM files, if it takes TLS.

    Raises:
        ConfigError: With every problem; files are read.
    """

    endpoints: tuple[str, ...] = ()
    cacert: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if not self.is_usual:
            connection = self._connection(self.endpoints or DEFAULT_ENDPOINTS)
            if connection.secure:
                credentials(connection)

    @classmethod
    def of(cls, endpoints: str, **files: Path | None) -> Self:
        """From endpoints with commas between, and files by name.

        Raises:
            ConfigError: With every problem.
        """
        return cls(endpoints=listed(endpoints), **files)

    @classmethod
    def taken(cls, values: dict[str, Any]) -> Self:
        """From what `OPTIONS` gave, which is taken out of `values`.

        Raises:
            UsageError: It can't be used.
        """
        try:
            return cls.of(values.pop("endpoints"), **{name: values.pop(name) for name in _FILES})
        except ConfigError as error:
            raise click.UsageError("; ".join(error.problems)) from error

    @property
    def is_usual(self) -> bool:
        """Was nothing said?"""
        return not self.endpoints and not any((self.cacert, self.cert, self.key))

    def to(self, found: Found) -> Connection:
        """The way to the etcd of a project.

        Raises:
            NoCluster: No member can be dialled, and none was named.
        """
        if self.endpoints:
            return self._connection(self.endpoints)
        members = found.members
        return self._connection(tuple(members), names=tuple(members.values()))

    def words(self) -> list[str]:
        """As a command line says it."""
        files = {name: getattr(self, name) for name in _FILES}
        words = [f"--endpoints={','.join(self.endpoints)}"] if self.endpoints else []
        return words + [f"--{name}={path}" for name, path in files.items() if path is not None]

    def _connection(self, endpoints: tuple[str, ...], names: tuple[str, ...] = ()) -> Connection:
        return Connection(endpoints=endpoints, names=names, cacert=self.cacert, cert=self.cert, key=self.key)


PUBLISHED: Final = Access()
"""Nothing was said: the ports that are published, without TLS."""
