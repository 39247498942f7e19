"""The replicas of a supervised cluster: started, watched, started again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chaos.cluster.plan import Launch, environment, port_for
from chaos.cluster.process import end_all
from chaos.cluster.state import ReplicaState
from component.process import Child
from lockd.errors import ConfigError
from lockd.flags import USAGE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from chaos.cluster.plan import Plan
    from component.clock import Clock

RESTART_DELAY: Final = 1.0
"""Seconds between the end of a replica and its next start."""

PATIENCE: Final = 12.0
"""Seconds that all replicas together may take to end when asked: the drain timeout and the exit bound, with room."""


@dataclass(slots=True)
class _Slot:
    """One replica's place: the process that has it now, or when the next one gets it."""

    launch: Launch
    child: Child
    restarts: int = 0
    due: float | None = None
    """When it starts again; None: it runs, or it never will."""
    ended: bool = False


class Replicas:
    """Owned by one thread. They end with this process."""

    def __init__(
        self, plan: Plan, endpoints: tuple[str, ...], *, clock: Clock, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self._plan = plan
        self._endpoints = endpoints
        self._clock = clock
        self._tell = tell
        self._slots: list[_Slot] = []

    def start(self) -> None:
        """Start them all.

        Raises:
            OSError: One can't be started.
        """
        for name in self._plan.names():
            launch = Launch.of(self._plan, name, port=port_for(None), restarts=0)
            self._slots.append(_Slot(launch, self._spawn(launch)))

    def step(self) -> None:
        """Note who has ended, start who is due.

        Raises:
            ConfigError: A replica's very first process ended with the code for usage: starting it again is of no use.
            OSError: One can't be started.
        """
        for slot in self._slots:
            self._step(slot)

    def _step(self, slot: _Slot) -> None:
        if slot.due is not None:
            if self._clock.now() < slot.due:
                return
            slot.restarts += 1
            port = port_for(slot.launch)
            slot.launch = Launch.of(self._plan, slot.launch.name, port=port, restarts=slot.restarts)
            try:
                slot.child = self._spawn(slot.launch)
            except OSError as error:
                slot.due = self._clock.now() + RESTART_DELAY
                self._tell(f"{slot.launch.name} can't be started: {error.strerror}: tried again")
                return
            slot.due = None
            slot.ended = False
            self._tell(f"{slot.launch.name} started again as {slot.launch.identity} (pid {slot.child.pid})")
            return
        if slot.ended or (code := slot.child.exit_code) is None:
            return
        if code == USAGE and slot.restarts == 0:
            raise ConfigError((f"{slot.launch.name} refuses its flags: {_last_line(slot.launch.log)}",))
        slot.ended = True
        slot.due = self._clock.now() + RESTART_DELAY if self._plan.restart else None
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        self._tell(f"{slot.launch.name} {how}; its log is {slot.launch.log}")

    def state(self) -> tuple[ReplicaState, ...]:
        """As cluster.json tells it. One that has ended is shown as it was, until it starts again."""
        return tuple(
            ReplicaState(
                name=slot.launch.name,
                identity=slot.launch.identity,
                pid=slot.child.pid,
                started=slot.child.process.started,
                http=slot.launch.http,
                log=str(slot.launch.log),
                trace=str(slot.launch.trace),
                restarts=slot.restarts,
            )
            for slot in self._slots
        )

    def stop(self) -> None:
        """End them all: in good order if they can, in any case."""
        end_all([slot.child.process for slot in self._slots], clock=self._clock, patience=PATIENCE)
        for slot in self._slots:
            slot.child.kill()  # reaps it

    def _spawn(self, launch: Launch) -> Child:
        variables = {**environment(), **self._plan.environment.get(launch.name, {})}
        return Child(launch.command(self._plan, self._endpoints), log=launch.log, environment=variables)


def _last_line(log: Path) -> str:
    """The end of a log, which is where a command says what is wrong with its flags."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.removeprefix("error: ") for line in reversed(lines) if line.strip()), f"see {log}")
