"""Processor time of processes, as the kernel counts it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

TICK: Final = os.sysconf("SC_CLK_TCK")


def seconds(pid: int) -> float:
    """Processor seconds that a process has used so far, all its threads together; 0.0 when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    fields = text.rpartition(")")[2].split()  # what stands before may hold anything
    return (int(fields[11]) + int(fields[12])) / TICK


class Meter:
    """What named processes use from now on."""

    def __init__(self, processes: Mapping[str, int]) -> None:
        self._processes = dict(processes)
        self._before = {name: seconds(pid) for name, pid in self._processes.items()}

    def used(self) -> dict[str, float]:
        """Processor seconds by name, since the meter was made."""
        return {name: seconds(pid) - self._before[name] for name, pid in self._processes.items()}
