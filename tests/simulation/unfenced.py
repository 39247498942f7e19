"""Clusters whose holders do what etcd can't refuse: each runs a command, kept by a warden, as `lockctl elect` does.

The warden kills at the gate by the host's clock, whether or not the process that told it the gate is stopped; it
reaps a little later, and then the process may release. Checked while it runs: no release is committed before. Looked
at afterwards: which commands ran when (`runs`), in true time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from component.custody import Verdict, judge
from lockd.ports import Applied, Release
from lockd.signals import WorkEnded
from tests.simulation.beliefs import Beliefs
from tests.simulation.timed import Timed

if TYPE_CHECKING:
    from tests.harness.lock_store import Flight
    from tests.simulation.process import Process

LATE = 0.004
"""True seconds that a timer may be late."""

REAPED_WITHIN = 0.05


@dataclass(slots=True, eq=False)
class Kept:
    """A command under its warden.

    Attributes:
        warn_at: On the host's clock, as `kill_at`.
        ended: When it ended, in true seconds.
        reaped: Nothing of it is left.
    """

    process: Process
    since: float
    warn_at: float
    kill_at: float
    warned: bool = False
    asked: bool = False
    ended: float = math.inf
    reaped: bool = False


class Unfenced(Timed):
    """One run.

    Args:
        grace: Plant a fault: seconds that commands are killed after the gate.

    Attributes:
        runs: Which commands ran when.
    """

    def __init__(self, seed: int, *, grace: float = 0.0, config: dict[str, Any] | None = None, **how: Any) -> None:
        self.kept: list[Kept] = []
        self.runs = Beliefs()
        self._grace = grace
        super().__init__(seed, config={"fenced": False, **(config or {})}, **how)

    def run(self) -> Unfenced:
        super().run()
        for kept in self.kept:
            self.runs.add(kept.since, min(kept.ended, self.until), kept.process.identity)
        return self

    # --- the command and its warden

    def _work(self, process: Process) -> None:
        """A term begins."""
        kept = Kept(process, self.now, math.inf, math.inf)
        self.kept.append(kept)
        self.at(self.now + self.random.uniform(0.5, 60.0), lambda: self._finish(kept))  # it is done some time

    def _believe(self, process: Process, gate: float) -> None:
        super()._believe(process, gate)
        for kept in self._running(process):
            if gate == -math.inf:
                self._finish(kept)
                continue
            margin = process.election.config.exit_seconds
            kept.warn_at, kept.kill_at = gate - margin, gate + self._grace
            self._wait(kept, kept.warn_at)
            if process.election.draining is not None and not kept.asked:
                kept.asked = True
                self.at(self.now + self.random.uniform(0.0, 8.0), lambda kept=kept: self._finish(kept))

    def _end(self, process: Process, why: str) -> None:
        for kept in self._running(process):
            self._finish(kept)  # its warden hears of it at once
        super()._end(process, why)

    def _running(self, process: Process) -> list[Kept]:
        return [kept for kept in self.kept if kept.process is process and kept.ended == math.inf]

    def _wait(self, kept: Kept, local: float) -> None:
        moment = kept.process.clock.true(local) + self.random.uniform(0.0, LATE)
        self.at(moment, lambda: self._look(kept))

    def _look(self, kept: Kept) -> None:
        """The warden's timer."""
        if kept.ended < math.inf:
            return
        now = kept.process.clock.local(self.now)
        verdict, seconds = judge(now, warn_at=kept.warn_at, kill_at=kept.kill_at, warned=kept.warned)
        match verdict:
            case Verdict.KILL:
                self.note(f"{kept.process.identity}'s command is killed")
                self._finish(kept)
                return
            case Verdict.WARN:
                kept.warned = True
                if self.random.random() < 0.5:  # or it does not listen
                    self.at(self.now + self.random.uniform(0.0, 1.0), lambda: self._finish(kept))
            case _:
                pass
        self._wait(kept, now + max(seconds, 1e-6))

    def _finish(self, kept: Kept) -> None:
        if kept.ended < math.inf:
            return
        kept.ended = self.now

        def reap() -> None:
            kept.reaped = True
            self._see(kept.process, WorkEnded())

        self.at(self.now + self.random.uniform(0.0, REAPED_WITHIN), reap)

    # --- what must hold

    def _commit(self, process: Process, flight: Flight) -> Applied:
        applied = super()._commit(process, flight)
        if isinstance(flight.transaction, Release) and applied.succeeded:
            left = [kept for kept in self.kept if kept.process is process and not kept.reaped]
            assert not left, f"{process.identity} releases, and its command is not reaped"
        return applied
