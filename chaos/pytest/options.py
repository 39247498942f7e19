"""The plugin's options and ini settings, and what they ask for. It imports nothing that takes time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pytest

    from chaos.pytest.settings import Shape

MARK: Final = "ha_cluster"
BACKENDS: Final = ("local", "compose")

_MARK_LINE: Final = (
    f"{MARK}(fresh=False, *, members, replicas, links, clocks, collector, networks, defaults, flags, service, lock, "
    "prefix): what this test wants of its cluster; fresh: nobody else gets it"
)
_NUMBERS: Final = {"ha_members": "etcd members, 1 or 3", "ha_replicas": "replicas"}
_FLAGS: Final = {
    "ha_links": "clusters whose links can be cut",
    "ha_clocks": "clusters whose wall clocks can be shifted",
    "ha_collector": "clusters whose telemetry collector can be made to hang",
    "ha_networks": "clusters with networks that a process can be taken off",
}
_WORDS: Final = {
    "ha_service": "words that start a program of your own in place of `replica run`",
    "ha_flags": "further flags of `replica run`",
}
_FILES: Final = {
    "cacert": "Authorities that its certificate must be of",
    "cert": "Client certificate for it",
    "key": "The client certificate's key",
}
_TEXTS: Final = {
    "ha_lock": "<namespace>/<name> of the lock that they contend for",
    "ha_prefix": "prefix of the lock's keys",
    "ha_backend": f"what clusters are made of: {', '.join(BACKENDS)}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How this run makes its clusters.

    Attributes:
        project, compose_file: Of a compose project that is there already, if one is named.
        endpoints, cacert, cert, key: How that project's etcd is reached, as `chaosctl run` takes it.
        missing: What becomes of a test whose cluster can't be had on this machine: `skip` or `fail`.
        folder: Where clusters, and what is kept of them, lie; None: among pytest's temporary folders.
        keep: Keep that of tests that passed, too.
    """

    backend: str
    project: str
    compose_file: Path | None
    endpoints: str
    cacert: Path | None
    cert: Path | None
    key: Path | None
    missing: str
    folder: Path | None
    keep: bool


def declare(parser: pytest.Parser) -> None:
    """All of them."""
    group = parser.getgroup("lockd", "highly available clusters that tests may hurt (lockd)")
    group.addoption("--ha-backend", choices=BACKENDS, help="What clusters are made of [local, or ini ha_backend].")
    group.addoption(
        "--ha-project", default="", metavar="NAME", help="Hurt this compose project, which is there already, and stays."
    )
    group.addoption("--ha-compose-file", type=Path, metavar="FILE", help="The same, by its file.")
    group.addoption(
        "--ha-endpoints", default="", metavar="HOST:PORT,...", help="That project's etcd [where it can be dialled]."
    )
    for name, what in _FILES.items():
        group.addoption(f"--ha-{name}", type=Path, metavar="FILE", help=f"{what}.")
    group.addoption(
        "--ha-missing",
        choices=("skip", "fail"),
        help="What becomes of tests whose cluster can't be had on this machine [fail where CI is set, else skip].",
    )
    group.addoption(
        "--ha-dir",
        type=Path,
        metavar="DIR",
        help="Where clusters, and what is kept of them, lie [among pytest's temporary folders].",
    )
    group.addoption(
        "--ha-keep", action="store_true", help="Keep logs and history of tests that passed, too, not only of others."
    )
    group.addoption("--ha-defaults", action="store_true", help="Leases of 15 s, as in production, in place of 3 s.")
    for name, what in (_NUMBERS | _TEXTS).items():
        parser.addini(name, f"{what}.", default=None)
    for name, what in _FLAGS.items():
        parser.addini(name, f"{what}.", type="bool", default=False)
    for name, what in _WORDS.items():
        parser.addini(name, f"{what}.", type="args", default=[])


def register(config: pytest.Config) -> None:
    """What pytest is to know before it collects anything."""
    config.addinivalue_line("markers", _MARK_LINE)


def options_of(config: pytest.Config, environment: dict[str, str] | None = None) -> Options:
    """How this run makes its clusters.

    Raises:
        ConfigError: An ini setting can't be used.
    """
    from lockd.errors import ConfigError  # noqa: PLC0415 - only once a test wants a cluster

    environment = dict(os.environ) if environment is None else environment
    project, compose_file, folder = (config.getoption(f"ha_{name}") for name in ("project", "compose_file", "dir"))
    # a project that is named is what is wanted, whatever is usual here
    usual = "compose" if project or compose_file is not None else config.getini("ha_backend") or "local"
    backend = config.getoption("ha_backend") or usual
    if backend not in BACKENDS:
        raise ConfigError((f"ha_backend: {backend!r} is none of {', '.join(BACKENDS)}",))
    return Options(
        backend=backend,
        project=project,
        compose_file=compose_file,
        endpoints=config.getoption("ha_endpoints"),
        **{name: config.getoption(f"ha_{name}") for name in _FILES},
        missing=config.getoption("ha_missing") or ("fail" if environment.get("CI") else "skip"),
        folder=None if folder is None else config.invocation_params.dir / folder,
        keep=config.getoption("ha_keep"),
    )


def shape_of(config: pytest.Config, marks: list[pytest.Mark]) -> tuple[Shape, bool]:
    """What a test's cluster is to be, and whether it is to be its own.

    Args:
        marks: Of the test, the nearest first.

    Raises:
        ConfigError: With every mistake.
    """
    from chaos.pytest.settings import Shape  # noqa: PLC0415 - only once a test wants a cluster
    from lockd.errors import ConfigError  # noqa: PLC0415

    given: dict[str, Any] = {}
    problems = []
    for name in _NUMBERS:
        text = config.getini(name)
        if text is not None:
            try:
                given[name.removeprefix("ha_")] = int(text)
            except ValueError:
                problems.append(f"{name}: {text!r} is no whole number")
    for name in (*_FLAGS, *_WORDS, "ha_lock", "ha_prefix"):
        value = config.getini(name)
        if value:
            given[name.removeprefix("ha_")] = tuple(value) if isinstance(value, list) else value
    if config.getoption("ha_defaults"):
        given["defaults"] = True
    if problems:
        raise ConfigError(tuple(problems))
    wanted: dict[str, Any] = {}
    for mark in reversed(marks):
        if mark.args:
            raise ConfigError((f"@pytest.mark.{MARK} takes names, such as replicas=5, not {mark.args!r}",))
        wanted |= mark.kwargs
    fresh = wanted.pop("fresh", False)
    return Shape().changed(given | wanted), bool(fresh)
