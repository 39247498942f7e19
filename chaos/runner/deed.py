"""What was done to a cluster, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaos.cluster.interface import Target
    from chaos.runner.schedule import Planned, TrialPlan
    from chaos.workloads.waiting import Silence


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """An action that was fired. Moments are on CLOCK_BOOTTIME.

    Attributes:
        targets: Who had the role at that moment; none: it was done to the cluster.
        wall: `at` in wall seconds, for display.
        proof: What was observed that shows that it took effect.
        lifted_at: From when on it need not be in force: just before it was undone; None: it never was.
        healed_at: When it was seen to be undone; None: it never was.
        healing: What was observed that shows that.
    """

    planned: Planned
    targets: tuple[Target, ...]
    at: float
    wall: float
    proof: str
    lifted_at: float | None = None
    healed_at: float | None = None
    healing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One trial.

    Attributes:
        began: When the method did, on CLOCK_BOOTTIME.
        ended: When the steady state was back, or was given up.
        steady: Was it back in time?
        problems: What did not go as planned, one line each.
        left_out: Drawn actions that could not be fired after those before them, and why.
        silence: The longest time in which clients waited and nothing was acknowledged; None: nobody waited.
    """

    plan: TrialPlan
    began: float
    ended: float
    deeds: tuple[Deed, ...]
    steady: bool
    problems: tuple[str, ...]
    silence: Silence | None
    left_out: tuple[str, ...] = ()

    @property
    def gap(self) -> float | None:
        """Seconds of that silence."""
        return None if self.silence is None else self.silence.seconds(self.ended)
