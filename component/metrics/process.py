"""The process's own numbers, by the names that Prometheus' clients give them."""

from __future__ import annotations

import gc
import os
import platform
import resource
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from component.metrics import observed

if TYPE_CHECKING:
    from component.metrics.observed import Values

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_STAT: Final = Path("/proc/self/stat")
_SYSTEM: Final = Path("/proc/stat")


def observe() -> None:
    """Have them collected from now on."""
    gauge, counter = observed.gauge, observed.counter
    booted, started = _booted(), int(_stat()[19]) / _TICKS
    gauge(
        "process_start_time",
        lambda: [(booted + started, {})],
        unit="s",
        description="When the process started, in seconds since 1970.",
    )
    gauge(
        "process_virtual_memory",
        lambda: [(int(_stat()[20]), {})],
        unit="By",
        description="Virtual memory in bytes.",
    )
    gauge(
        "process_resident_memory",
        lambda: [(int(_stat()[21]) * _PAGE, {})],
        unit="By",
        description="Resident memory in bytes.",
    )
    counter("process_cpu", _processor_time, unit="s", description="Processor time, the system's included, in seconds.")
    gauge("process_threads", lambda: [(int(_stat()[17]), {})], description="Threads.")
    gauge("process_open_fds", _descriptors, description="File descriptors that are open.")
    gauge(
        "process_max_fds",
        lambda: [(resource.getrlimit(resource.RLIMIT_NOFILE)[0], {})],
        description="File descriptors that may be open.",
    )
    gauge("python_info", _python, description="The Python that runs this.")
    for name, key, what in (
        ("python_gc_collections", "collections", "Runs of the garbage collector, by generation."),
        ("python_gc_objects_collected", "collected", "Objects that it freed, by generation."),
        ("python_gc_objects_uncollectable", "uncollectable", "Objects that it found and could not free."),
    ):
        counter(name, partial(_garbage, key), description=what)


def _stat() -> list[str]:
    """The fields of /proc/self/stat after the command's name, which may hold anything."""
    return _STAT.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()


def _booted() -> float:
    """Seconds since 1970 at which the machine booted, as the kernel has them."""
    lines = _SYSTEM.read_text(encoding="ascii").splitlines()
    return float(next(line for line in lines if line.startswith("btime ")).split()[1])


def _processor_time() -> Values:
    fields = _stat()
    return [((int(fields[11]) + int(fields[12])) / _TICKS, {})]


def _descriptors() -> Values:
    return [(len(os.listdir("/proc/self/fd")), {})]  # noqa: PTH208 - counted, and names are all that this takes


def _python() -> Values:
    major, minor, patch = platform.python_version_tuple()
    labels = {
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
        "major": major,
        "minor": minor,
        "patchlevel": patch,
    }
    return [(1, labels)]


def _garbage(key: str) -> Values:
    return [(stats[key], {"generation": str(number)}) for number, stats in enumerate(gc.get_stats())]
