"""A run: a scenario's trials on real clusters, judged and measured."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING, Any, Final

from chaos import checks
from chaos.cluster.plan import Plan
from chaos.errors import Interrupted
from chaos.faults.errors import NotAvailable
from chaos.journal import keeping
from chaos.runner.assembly import assemble
from chaos.runner.bout import Bout, unplanned
from chaos.runner.schedule import Schedule
from chaos.runner.stage import stage
from chaos.runner.trial import Trial
from chaos.scenario.faults import needs
from chaos.scenario.length import Length
from component.durations import format_duration
from component.process import Gone

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from chaos.checks.violation import Violation
    from chaos.runner.assembly import Assembled
    from chaos.runner.deed import Outcome
    from chaos.runner.order import Order
    from chaos.runner.schedule import TrialPlan
    from chaos.runner.stage import Stage
    from component.clock import Clock
    from component.progress import Progress

HISTORY: Final = 60.0
"""Seconds that etcd may take to tell its history."""

SETTLING: Final = 30.0
"""Seconds in the end in which pods that had been told to wait may get the nodes that others have left."""

AGAIN: Final = 2.0
"""Seconds between two judgements meanwhile."""


class Run:
    """For one thread.

    Args:
        stop: Gives up at once; everything is taken down.
        told: How many trials are done.
        tell: Gets a line after each trial.
    """

    def __init__(
        self, order: Order, *, clock: Clock, stop: threading.Event, told: Progress, tell: Callable[[str], None]
    ) -> None:
        self._order = order
        self._clock = clock
        self._stop = stop
        self._told = told
        self._tell = tell
        self._bouts: list[Bout] = []
        self._began = clock.now()

    def run(self) -> tuple[Bout, ...]:
        """Carry it out. What did not hold is in the bouts, not raised.

        A cluster that didn't get back to its steady state ends the run: the trials after it are missing.

        Raises:
            NotStarted, TooSlow: A cluster did not come up, or was never steady.
            Interrupted: `stop` was set.
            NotAvailable: A fault can't be had here.
            LockdError, OSError: It could not go on.
        """
        schedule = Schedule.of(
            self._order.scenario, seed=self._order.seed, trials=self._order.trials, timing=self._order.timing
        )
        fresh = self._order.scenario.configuration.fresh
        for plans in [(plan,) for plan in schedule.trials] if fresh else [schedule.trials]:
            self._bout(plans)
            if not self._bouts[-1].outcomes[-1].steady:
                break
        return tuple(self._bouts)

    def _bout(self, plans: Sequence[TrialPlan]) -> None:
        """Some trials on one cluster."""
        order = self._order
        folder = order.folder / f"cluster-{plans[0].number}"
        with (
            _removed(folder),
            stage(
                order.scenario,
                order.backend,
                self._plan(folder),
                order.timing,
                clock=self._clock,
                stop=self._stop,
                told=self._told,
            ) as here,
        ):
            outcomes: list[Outcome] = []
            for each in plans:
                self._steady(here)
                outcomes.append(self._trial(here, each))
                self._tell_trial(outcomes[-1])
                if not outcomes[-1].steady:
                    break
                if each is not plans[-1]:
                    here.workload.tidy()
            self._told("judge what happened", 0, 1)
            here.workload.finish()
            if outcomes[-1].steady:
                self._steady(here)  # what was asked for last is answered, too
            found, judged = self._judged(here, outcomes)
            bout = Bout(
                tuple(outcomes), found, judged, unplanned(order.scenario, outcomes, found, traced=order.backend.traced)
            )
            self._bouts.append(bout)
            if order.keep or not bout.passed:
                self._keep(here, bout)
            self._told("judge what happened", 1, 1)

    def _judged(self, here: Stage, outcomes: Sequence[Outcome]) -> tuple[Assembled, dict[str, tuple[Violation, ...]]]:
        """What happened, judged as soon as no pod is left waiting, or when its time is up."""
        end = self._clock.now() + SETTLING
        while True:
            found = assemble(here, outcomes, within=HISTORY)
            judged = checks.judged(found.whole)
            if not judged["none-lost"] or self._clock.now() >= end:
                return found, judged
            if self._clock.wait(self._stop, AGAIN):
                raise Interrupted("stopped by a signal; the cluster is taken down")

    def _plan(self, folder: Path) -> Plan:
        wanted = self._order.scenario.configuration
        program: dict[str, Any] = {"program": self._order.program} if self._order.program else {}
        plan = Plan(
            folder=folder,
            members=wanted.etcd,
            replicas=wanted.replicas,
            daemons=wanted.daemons,
            flags=(*self._order.flags, *wanted.flags),
            **program,
        )
        folder.mkdir(parents=True, exist_ok=True)
        return self._order.backend.equipped(plan, needs(self._order.scenario))

    def _steady(self, here: Stage) -> None:
        wanted = self._order.scenario.steady_state_hypothesis
        within = Length.parse(wanted.within).under(self._order.timing)
        here.steady.wait(wanted.probes, within=within, stop=self._stop)

    def _trial(self, here: Stage, plan: TrialPlan) -> Outcome:
        def tell(line: str) -> None:
            self._tell(f"trial {plan.number}: {line}")

        return Trial(here, self._order.scenario, plan, tell=tell).run()

    def _tell_trial(self, outcome: Outcome) -> None:
        """One line, with the time that is left if the other trials take as long."""
        done, of = outcome.plan.number, self._order.trials
        self._told(f"{self._order.name}: trials", done, of)
        left = (self._clock.now() - self._began) / done * (of - done)
        state = "steady again" if outcome.steady else "not steady again"
        gap = "" if outcome.gap is None else f", client gap {outcome.gap:.3f} s"
        after = f", about {format_duration(round(left))} left" if done < of else ""
        self._tell(f"trial {done} of {of}: {state}{gap}{after}")
        for problem in outcome.problems:
            self._tell(f"trial {done}: {problem}")
        for line in outcome.left_out:
            self._tell(f"trial {done}: left out: {line}")

    def _keep(self, here: Stage, bout: Bout) -> None:
        """Write down what shows it, with etcd's data as members that stand still have them."""
        stopped = []
        try:
            for member in here.cluster.etcd_members() if here.standing.has_data else ():
                with contextlib.suppress(Gone):
                    here.cluster.pause(member)
                    stopped.append(member)
            keeping.keep(
                self._order.folder / f"kept-{bout.outcomes[0].plan.number}",
                bout.found.whole,
                bout.judged,
                seed=self._order.seed,
                command=self._order.command,
                cluster=here.plan.folder,
                problems=[f"trial {number}: {line}" for number, lines in bout.problems.items() for line in lines],
            )
        finally:
            for member in stopped:
                with contextlib.suppress(Gone):
                    here.cluster.resume(member)


@contextlib.contextmanager
def _removed(folder: Path) -> Iterator[None]:
    """A cluster's folder, gone at the end of the block: what is worth keeping has been copied by then."""
    try:
        yield
    except (Interrupted, NotAvailable):
        shutil.rmtree(folder, ignore_errors=True)
        raise
    # after another error it stays: its logs tell why
    shutil.rmtree(folder, ignore_errors=True)
