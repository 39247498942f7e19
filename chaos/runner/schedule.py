"""What is decided before anything runs: by the scenario, the seed and the timing, and by nothing else. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chaos.scenario.faults import concrete, takes_target
from chaos.scenario.length import Length
from chaos.scenario.model import UNTIL_OVER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chaos.scenario.model import Action, Scenario
    from chaos.timing import Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One action of one trial.

    Attributes:
        role: Whom it is aimed at, as the scenario says; "": at the cluster.
        draw: In [0, 1): which of those who have the role, where that is open.
        trigger: `at`, `after`, `when`, or `next`: as soon as the action before was fired.
        what: The event or condition, or "".
        nth: Which occurrence of it.
        at: Seconds from the trial's beginning, for `at`.
        delay: Seconds between the trigger and the fault.
        lasts: Seconds until it is undone; None: until the end of the trial.
        until_over: It is undone once it has done all that it does by itself.
    """

    fault: str
    role: str
    draw: float
    trigger: str = "next"
    what: str = ""
    nth: int = 1
    at: float = 0.0
    delay: float = 0.0
    lasts: float | None = None
    until_over: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """For the journal: what a run that is repeated from its seed shows again, number by number."""
        return {
            "fault": self.fault,
            "parameters": dict(self.parameters),
            "role": self.role,
            "draw": self.draw,
            "trigger": self.trigger,
            "what": self.what,
            "nth": self.nth,
            "at_ms": round(self.at * 1e3, 3),
            "delay_ms": round(self.delay * 1e3, 3),
            "lasts_ms": None if self.lasts is None else round(self.lasts * 1e3, 3),
        }

    @property
    def trigger_told(self) -> str:
        """When it is fired, for people: `when bind-in-flight`, `at 2.5 s`; "": as soon as the action before was."""
        return {"at": f"at {self.at:.3g} s", "next": ""}.get(self.trigger, f"{self.trigger} {self.what}")

    def told(self) -> str:
        """For people: `kill leader when bind-in-flight`."""
        nth = f"({self.nth})" if self.nth != 1 else ""
        return " ".join(part for part in (self.fault, self.role, self.trigger_told, nth) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """One trial.

    Attributes:
        number: From 1.
        seed: Of what the faults themselves draw.
        method: In their order.
        drawn: By the moment at which they are fired.
        rollbacks: Done at the end in any case.
    """

    number: int
    seed: str
    method: tuple[Planned, ...]
    drawn: tuple[Planned, ...] = ()
    rollbacks: tuple[Planned, ...] = ()

    @property
    def actions(self) -> tuple[Planned, ...]:
        return (*self.method, *self.drawn, *self.rollbacks)

    def document(self) -> list[dict[str, Any]]:
        return [action.document() for action in self.actions]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A whole run."""

    seed: int
    trials: tuple[TrialPlan, ...]

    @classmethod
    def of(cls, scenario: Scenario, *, seed: int, trials: int, timing: Timing) -> Schedule:
        """Decide everything that can be decided before.

        The first trials of a run are the same however many follow.
        """
        return cls(seed, tuple(_trial(scenario, seed, number, timing) for number in range(1, trials + 1)))


def _trial(scenario: Scenario, seed: int, number: int, timing: Timing) -> TrialPlan:
    chance = random.Random(f"{seed}/{number}")  # noqa: S311 - what is drawn is to be drawn again

    def plan(actions: Sequence[Action]) -> tuple[Planned, ...]:
        return tuple(_planned(action, chance, timing) for action in actions)

    return TrialPlan(
        number=number,
        seed=f"{seed}/{number}/faults",
        method=plan(scenario.method),
        drawn=_drawn(scenario, chance, timing),
        rollbacks=plan(scenario.rollbacks),
    )


def _planned(action: Action, chance: random.Random, timing: Timing, *, at: float | None = None) -> Planned:
    trigger = action.trigger
    earliest, latest = trigger.earliest.under(timing), trigger.latest.under(timing)
    return Planned(
        fault=action.fault,
        role=_aimed(action),
        draw=chance.random(),
        trigger="at" if at is not None else trigger.kind,
        what=trigger.what,
        nth=trigger.nth,
        at=at if at is not None else chance.uniform(earliest, latest),
        delay=trigger.delay.under(timing),
        lasts=Length.parse(action.lasts).under(timing) if action.lasts not in (None, UNTIL_OVER) else None,
        until_over=action.lasts == UNTIL_OVER,
        parameters=concrete(action.parameters, timing),
    )


def _drawn(scenario: Scenario, chance: random.Random, timing: Timing) -> tuple[Planned, ...]:
    if scenario.drawn is None:
        return ()
    within = Length.parse(scenario.drawn.within).under(timing)
    moments = sorted(chance.uniform(0.0, within) for _ in range(scenario.drawn.actions))
    return tuple(_planned(chance.choice(scenario.drawn.among), chance, timing, at=at) for at in moments)


def _aimed(action: Action) -> str:
    return str(action.role) if takes_target(action.fault) else ""
