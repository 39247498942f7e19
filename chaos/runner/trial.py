"""One trial: the method is fired, each fault is undone in its time, and the steady state comes back."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from chaos.errors import Interrupted
from chaos.faults.custody import Custody
from chaos.faults.errors import NotApplied, NotHealed
from chaos.faults.registry import make
from chaos.roles import Role
from chaos.runner.deed import Deed, Outcome
from chaos.runner.steady import NotSteady
from chaos.runner.track import Track
from chaos.scenario.length import Length
from chaos.targets import NoTarget, resolve
from component.lifecycle import Group
from component.process import Gone
from lockd.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Applied
    from chaos.runner.schedule import Planned, TrialPlan
    from chaos.runner.stage import Stage
    from chaos.scenario.model import Scenario

PATIENCE: Final = Length(seconds=60.0, leases=4.0)
"""How long a trigger may keep waiting, or a role be nobody's; far beyond what either takes."""

HEALING: Final = 90.0
"""Seconds that undoing may take: more than a fault allows itself."""

APPLIED: Final = "applied"
"""Ends a wait: it is no trigger."""

READING: Final = 60.0
"""Seconds that etcd may take to tell all that has happened."""

LONGEST: Final = 0.5
"""Seconds between two looks, where no event ends the wait earlier."""


@dataclass(slots=True)
class _Held:
    """A fault that was applied: which deed it is, and when it is to be undone (None: at the end)."""

    place: int
    applied: Applied
    until: float | None
    until_over: bool


class Trial:
    """For one thread, which decides; each fault is applied, and undone, on one of its own.

    Args:
        tell: Gets a line when a fault took effect, and when it was undone.
    """

    def __init__(self, stage: Stage, scenario: Scenario, plan: TrialPlan, *, tell: Callable[[str], None]) -> None:
        self._stage = stage
        self._scenario = scenario
        self._plan = plan
        self._tell = tell
        self._clock = stage.clock
        self._patience = PATIENCE.under(stage.timing)
        self._deeds: list[Deed] = []
        self._held: list[_Held] = []
        self._group = Group("trial", clock=stage.clock)
        self._problems: list[str] = []
        self._left_out: list[str] = []

    def run(self) -> Outcome:
        """Carry it out. Every fault is undone, whatever happens.

        Raises:
            Interrupted: The stage's stop was set.
            NotAvailable: A fault can't be had here.
            WorkloadFailed, StoreError, NoCluster: It can't go on, or etcd doesn't tell what happened.
        """
        chance = random.Random(self._plan.seed)  # noqa: S311 - what is drawn is to be drawn again
        stop, tell = self._stage.stop, self._problems.append
        with Custody(self._stage.place, stop=stop, random=chance, clock=self._clock, tell=tell) as custody:
            custody.prepare()
            self._stage.auditor.history(within=READING)  # what happened before is not taken for seen in this trial
            began = self._clock.now()
            self._perform(custody, began)
            for planned in self._plan.rollbacks:
                if not self._fire(custody, planned):
                    self._problems.append(f"{planned.told()}: nobody had the role")
            for held in reversed(self._held):
                self._start_healing(custody, held)
            self._await_healing()
        steady = self._recover()
        ended = self._clock.now()
        return Outcome(
            plan=self._plan,
            began=began,
            ended=ended,
            deeds=tuple(self._deeds),
            steady=steady,
            problems=tuple(self._problems),
            left_out=tuple(self._left_out),
            silence=self._stage.workload.longest(began, ended),
        )

    def _perform(self, custody: Custody, began: float) -> None:
        """The method and what is drawn, until all is fired and what lasts for a time is undone."""
        tracks = [Track(actions, self._stage.signals, began) for actions in (self._plan.method, self._plan.drawn)]
        while True:
            self._look()
            self._heal_due(custody)
            for track in tracks:
                self._advance(custody, track)
            if all(track.head is None for track in tracks) and not any(map(_lasting, self._held)):
                self._await_healing()
                return
            now = self._clock.now()
            self._await(*(track.next_look(now) for track in tracks))

    def _await(self, *seconds: float) -> None:
        """Until something happens, so many seconds have passed, or a fault is to be undone."""
        now = self._clock.now()
        deadlines = (held.until - now for held in self._held if held.until is not None)
        self._stage.signals.wait(self._clock, min((*deadlines, *seconds, LONGEST)))

    def _advance(self, custody: Custody, track: Track) -> None:
        """Fire the next one of a track if it is time, or give it up."""
        head = track.head
        if head is None:
            return
        now, mark = self._clock.now(), self._stage.signals.mark()
        if track.ready(now) and self._fire(custody, head):
            track.advance(self._clock.now(), mark)
        elif track.late(now, self._patience):
            left_out = self._left_out if head in self._plan.drawn else self._problems
            left_out.append(f"{head.told()}: was not fired within {self._patience:g} s")
            track.advance(now)

    def _fire(self, custody: Custody, planned: Planned) -> bool:
        """Apply one fault; False: nobody has the role at this moment."""
        try:
            targets = self._targets(planned)
        except (NoTarget, StoreError):
            return False
        try:
            applied = self._apply(custody, planned, targets)
        except (NotApplied, StoreError, Gone) as error:
            # What is drawn may have been made impossible by what was drawn before.
            (self._left_out if planned in self._plan.drawn else self._problems).append(f"{planned.told()}: {error}")
            return True
        self._deeds.append(
            Deed(planned=planned, targets=targets, at=applied.at, wall=applied.wall, proof=applied.proof)
        )
        self._tell(f"{planned.told()}: {applied.proof}")
        until = None if planned.lasts is None else applied.at + planned.lasts
        self._held.append(_Held(len(self._deeds) - 1, applied, until, planned.until_over))
        return True

    def _apply(self, custody: Custody, planned: Planned, targets: tuple[Target, ...]) -> Applied:
        """On a thread: a fault that waits for its effect must keep no other in force beyond its time."""
        answer: list[Applied | Exception] = []

        def apply() -> None:
            try:
                answer.append(custody.apply(make(planned.fault, planned.parameters), targets))
            except Exception as error:  # noqa: BLE001 - it is raised below
                answer.append(error)
            self._stage.signals.happened(APPLIED)

        self._group.spawn(f"apply-{len(self._deeds)}", apply)
        while not answer:
            self._heal_due(custody)
            self._await()
        if isinstance(answer[0], Exception):
            raise answer[0]
        return answer[0]

    def _targets(self, planned: Planned) -> tuple[Target, ...]:
        if not planned.role:
            return ()
        role = Role.parse(planned.role)
        return resolve(role, self._stage.cast(role), planned.draw)

    def _heal_due(self, custody: Custody) -> None:
        now = self._clock.now()
        for held in list(self._held):
            over = held.until_over and held.applied.over
            late = held.until_over and now >= held.applied.at + self._patience
            if over or late or (held.until is not None and now >= held.until):
                self._held.remove(held)
                self._start_healing(custody, held)
            if late and not over:
                self._problems.append(f"{self._deeds[held.place].planned.told()}: was not over in {self._patience:g} s")

    def _start_healing(self, custody: Custody, held: _Held) -> None:
        """On a thread: one fault may be undone only when another is, as a member that comes back waits for a quorum."""
        self._group.spawn(f"heal-{held.place}", self._heal, custody, held)

    def _await_healing(self) -> None:
        """Wait until nothing is being undone any more.

        Raises:
            NotHealed: Something takes longer than any fault says it may.
        """
        if late := self._group.join(HEALING):
            raise NotHealed(f"not undone within {HEALING:g} s: {', '.join(late)}")
        if self._group.failure is not None:
            raise self._group.failure

    def _heal(self, custody: Custody, held: _Held) -> None:
        """Undo one fault, and note when and how that was seen."""
        planned, lifted_at = self._deeds[held.place].planned, self._clock.now()
        try:
            healing = custody.heal(held.applied)
        except NotHealed as error:
            self._problems.append(f"{planned.told()}: {error}")
        else:
            healed_at = self._clock.now()
            self._tell(f"after {planned.told()}: {healing}")
            deed = self._deeds[held.place]
            self._deeds[held.place] = replace(deed, lifted_at=lifted_at, healed_at=healed_at, healing=healing)
        self._stage.signals.happened("healed")

    def _recover(self) -> bool:
        wanted = self._scenario.steady_state_hypothesis
        within = Length.parse(wanted.within).under(self._stage.timing)
        try:
            self._stage.steady.wait(wanted.probes, within=within, stop=self._stage.stop)
        except NotSteady as error:
            self._problems.append(str(error))
            return False
        self._stage.auditor.history(within=READING)  # what has happened until now is judged by when it was seen
        return True

    def _look(self) -> None:
        if self._stage.stop.is_set():
            raise Interrupted("stopped by a signal; the cluster is taken down")


def _lasting(held: _Held) -> bool:
    """Is it undone by time, or by itself, before the trial goes on?"""
    return held.until is not None or held.until_over
