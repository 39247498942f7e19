"""Processes of this host, hurt as those of a cluster are: each told by its pid and by when it began."""

from __future__ import annotations

import contextlib
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chaos.cluster import process as processes
from chaos.cluster.process import eventually
from component.process import Gone, Process

if TYPE_CHECKING:
    from chaos.cluster.interface import Condition, Target
    from component.clock import Clock

STOPPING: Final = 5.0
"""Seconds that a process may take to stand still, or to end when killed."""


class Hosted:
    """What `chaos.cluster.interface.Cluster` asks to be done to a target, for those that are processes of this host."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def condition(self, target: Target) -> Condition:
        return processes.condition(_process(target))

    def kill(self, *targets: Target) -> None:
        found = [_process(target) for target in targets]
        for process in found:
            process.send(signal.SIGKILL)
        eventually(lambda: not any(process.alive for process in found), clock=self._clock, within=STOPPING)

    def terminate(self, *targets: Target) -> None:
        for process in [_process(target) for target in targets]:
            process.send(signal.SIGTERM)

    def pause(self, target: Target) -> None:
        process = _process(target)
        process.send(signal.SIGSTOP)
        eventually(lambda: process.state in ("T", "t", ""), clock=self._clock, within=STOPPING)

    def resume(self, target: Target) -> None:
        _process(target).send(signal.SIGCONT)


@dataclass(frozen=True, slots=True)
class Continue:
    """A stopped process goes on, without the tool that stopped it."""

    pid: int
    started: int

    def do(self) -> str:
        with contextlib.suppress(Gone):
            Process(self.pid, self.started).send(signal.SIGCONT)
        return f"process {self.pid} goes on"


def _process(target: Target) -> Process:
    return Process(target.pid, target.started)
