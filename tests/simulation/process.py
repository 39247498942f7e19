"""A process of the simulation: one candidacy on one host."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockd.election import Election
    from lockd.fencing import Guard
    from lockd.signals import Input
    from tests.simulation.clocks import HostClock


@dataclass(slots=True)
class Process:
    """One candidate: a real election on a host's clock, and what became of it.

    Attributes:
        paused: It is stopped, and reads nothing of what comes.
        hung: Its work makes no progress.
        stuck: Seconds that its next request will be stuck on its way; 0 for none.
        wakes: Steps taken, so that an old timer knows that it is old.
        heard: When the last event of its watch arrives, in true seconds.
        gate: The gate it has told its work; its belief is that this is ahead on its clock.
        since: When that belief began, in true seconds.
        guard: Of the term that it leads or led.
        inbox: What came while it was stopped.
    """

    host: int
    clock: HostClock
    election: Election
    alive: bool = True
    paused: bool = False
    hung: bool = False
    stuck: float = 0.0
    wakes: int = 0
    heard: float = 0.0
    gate: float = -math.inf
    since: float = 0.0
    guard: Guard | None = None
    inbox: list[Input] = field(default_factory=list)

    @property
    def identity(self) -> str:
        return self.election.config.identity
