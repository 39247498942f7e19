"""What is to be run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from chaos.backend.interface import Backend
    from chaos.journal.thresholds import Threshold
    from chaos.scenario.model import Scenario
    from chaos.timing import Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One scenario, and how.

    Attributes:
        name: The scenario's, as it was asked for.
        backend: Makes the clusters.
        flags: Of `replica run`, for the timing.
        folder: Where clusters are made, and where what is kept lies.
        keep: Keep history, logs and etcd's data of a run that passed, too.
        command: Repeats the run.
        program: Words that start a replica; by default the one of this package.
    """

    name: str
    scenario: Scenario
    backend: Backend
    seed: int
    trials: int
    timing: Timing
    flags: tuple[str, ...]
    folder: Path
    keep: bool = False
    thresholds: tuple[Threshold, ...] = ()
    command: str = ""
    program: tuple[str, ...] = ()
