"""What a benchmark runs on: is it enough, and what must a reader of its figures know?"""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lockd.errors import ConfigError
from lockd.etcd.binary import find_etcd

if TYPE_CHECKING:
    from collections.abc import Mapping

GIB: Final = 1024**3
MEMORY: Final = 2 * GIB
"""Bytes that three members, three replicas and a creator may come to need."""

DISK: Final = 2 * GIB
"""Bytes that three members' logs and databases may come to need."""

CORES: Final = 2
"""The targets are for two; with fewer, figures tell of the machine alone."""

QUIET: Final = 0.3
"""Load for each core above which figures are not to be trusted."""


def require(folder: Path) -> None:
    """See to it that there is enough of all.

    Raises:
        ConfigError: With everything that is missing, and what to do about it.
    """
    problems = []
    free = shutil.disk_usage(folder).free
    if free < DISK:
        problems.append(
            f"{folder} has {free / GIB:.1f} GiB free, {DISK / GIB:g} are needed: give --dir on another disk"
        )
    available = memory_available()
    if available is not None and available < MEMORY:
        problems.append(
            f"{available / GIB:.1f} GiB of memory are available, {MEMORY / GIB:g} are needed: end something"
        )
    try:
        find_etcd()
    except ConfigError as error:
        problems += error.problems
    if problems:
        raise ConfigError(tuple(problems))


def describe() -> dict[str, Any]:
    """What the figures depend on."""
    etcd = find_etcd()
    return {
        "cores": cores(),
        "cpu": _cpu(),
        "memoryGiB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "etcd": ".".join(map(str, etcd.version)),
        "loadBefore": round(os.getloadavg()[0], 2),
    }


def doubts(machine: Mapping[str, Any]) -> tuple[str, ...]:
    """Why figures of this machine may not be what they seem."""
    found = []
    if machine["cores"] < CORES:
        found.append(f"{machine['cores']} core: the targets are for {CORES}")
    if machine["loadBefore"] > QUIET * machine["cores"]:
        found.append(f"the machine was busy before (load {machine['loadBefore']}): these figures are too low")
    return tuple(found)


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def memory_available() -> int | None:
    """Bytes, or None where the kernel doesn't tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return found[0] if found else None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
