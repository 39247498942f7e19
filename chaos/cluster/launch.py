"""Starting a supervisor as a process of its own, and waiting until its cluster is healthy."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chaos.cluster import health
from chaos.cluster import state as files
from chaos.cluster.plan import environment
from chaos.cluster.process import STEP, end_all
from chaos.cluster.words import last_words, shortened
from chaos.errors import Interrupted, NoCluster, NotStarted, TooSlow
from component.clock import SystemClock
from component.process import Child, Process

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from chaos.cluster.health import Health
    from chaos.cluster.plan import Plan
    from chaos.cluster.state import ClusterState
    from component.clock import Clock

PATIENCE: Final = 60.0
"""Seconds that a cluster may take to become healthy."""


@dataclass(frozen=True, slots=True)
class Supervisor:
    """A supervisor that this process started.

    Attributes:
        exit_code: Asks for its exit code; None while it runs.
        log_from: Where in its log, in bytes, its own lines begin: an earlier one's stand before.
    """

    process: Process
    exit_code: Callable[[], int | None]
    log_from: int = 0

    def end(self, *, clock: Clock) -> None:
        """Have it take its cluster down, and wait for that."""
        end_all((self.process,), clock=clock, patience=PATIENCE)
        self.exit_code()  # reaps it


def launch(plan: Plan, *, leashed: bool) -> Supervisor:
    """Start a supervisor, in a session of its own.

    Args:
        leashed: It ends with this process; otherwise it lives on.
    """
    log = _log(plan)
    begin = log.stat().st_size if log.exists() else 0
    if leashed:
        child = Child(_command(plan), log=log, environment=environment())
        return Supervisor(child.process, lambda: child.exit_code, begin)
    with log.open("ab") as output:
        free = subprocess.Popen(  # noqa: S603 - the command is made below, in a list
            _command(plan),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment(),
            start_new_session=True,
        )
    return Supervisor(Process.of(free.pid), free.poll, begin)


def _log(plan: Plan) -> Path:
    for folder in (plan.logs, plan.traces):
        folder.mkdir(parents=True, exist_ok=True)
    return plan.logs / "supervisor.log"


def _command(plan: Plan) -> list[str]:
    return [sys.executable, "-m", "chaos.cluster", json.dumps(plan.document())]


def await_health(
    plan: Plan,
    supervisor: Supervisor,
    stop: threading.Event,
    *,
    progress: Callable[[Health], None],
    clock: Clock | None = None,
    within: float = PATIENCE,
) -> ClusterState:
    """Wait until all replicas, and each `lockd`, are ready, and a replica leads.

    Args:
        stop: Gives up at once.
        progress: Told how far it is, again and again.

    Raises:
        NotStarted: The supervisor has ended.
        TooSlow: Time is up.
        Interrupted: `stop` was set.
    """
    clock = clock or SystemClock()
    end = clock.now() + within
    seen = health.Health(0, plan.replicas + plan.daemons, "")
    while True:
        try:
            state = files.read(plan.folder)
        except NoCluster:
            state = None
        if state is not None and state.supervisor == supervisor.process:
            seen = health.ask(state)
            progress(seen)
            if seen.healthy:
                return state
        if (code := supervisor.exit_code()) is not None:
            raise NotStarted(_last_words(plan, supervisor.log_from), code)
        if clock.wait(stop, 5 * STEP):
            raise Interrupted("stopped by a signal before the cluster was healthy; it is taken down")
        if clock.now() >= end:
            raise TooSlow(f"not healthy within {within:g} s: {seen}; what they say is in {plan.logs}")


def _last_words(plan: Plan, begin: int) -> tuple[str, ...]:
    """What a supervisor, whose lines begin there, said of why it ended."""
    log = plan.logs / "supervisor.log"
    lines = log.read_bytes()[begin:].decode(errors="replace").splitlines()
    own = tuple(line.removeprefix("error: ") for line in lines if line.startswith("error: "))
    if own:
        return own
    said = last_words("\n".join(lines))
    return (shortened(f"the supervisor ended{f': {said}' if said else ''}; what it said is in {log}"),)
