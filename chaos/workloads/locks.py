"""Clients that contend for a lock by `lockctl elect`: what it runs acts as long as the lock is held."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chaos.cluster.interface import Target
from chaos.cluster.plan import environment
from chaos.cluster.process import end_all
from chaos.errors import WorkloadFailed
from chaos.workloads.diary import Diary
from chaos.workloads.waiting import Waiting
from component.durations import format_duration
from component.lifecycle import Group
from component.process import Child

if TYPE_CHECKING:
    from chaos.cluster.plan import Plan
    from chaos.record import Operation
    from chaos.timing import Timing
    from chaos.workloads.waiting import Silence
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway

NAME: Final = "diary"
NAMESPACE: Final = "chaos"
"""Of the lock."""

STEP: Final = 0.02
"""Seconds between two looks at the diary and the processes."""

RECENT: Final = 1.0
"""Seconds for which who acted last is taken for the holder."""

RESTART: Final = 0.5
"""Seconds between the end of a contender and its next start."""

ENDING: Final = 20.0
"""Seconds that all of them may take to end."""

_BEAT: Final = Path(__file__).with_name("beat.py")


class LockWorkload:
    """A `chaos.workloads.interface.Workload`: an act under the lock is what clients wait for, always."""

    def __init__(self, gateway: Gateway, plan: Plan, timing: Timing, *, contenders: int, clock: Clock) -> None:
        self._gateway = gateway
        self._plan = plan
        self._ttl = max(timing.lease_duration, 3.0)
        self._clock = clock
        self._names = tuple(f"lockctl-{number}" for number in range(1, contenders + 1))
        self._file = plan.folder / "diary"
        self._group = Group("workload", clock=clock)
        self._lock = threading.Lock()
        self._children: dict[str, Child] = {}
        self._due: dict[str, float] = {}
        self._diary = Diary()
        self._waiting = Waiting()
        self._beats = 0
        self._acted = 0.0

    def start(self) -> None:
        self._file.touch()
        self._waiting.asked([self._next], self._clock.now())
        for name in self._names:
            self._launch(name)
        self._group.spawn("locks", self._run)

    def problem(self, before: float) -> str | None:
        if (failure := self._group.failure) is not None:
            raise WorkloadFailed(f"the workload has failed: {failure}") from failure
        with self._lock:
            if self._diary.broken:
                return self._diary.broken
            return None if self._acted >= before else "nobody has acted under the lock"

    def longest(self, since: float, until: float) -> Silence | None:
        return self._waiting.longest(since, until)

    def tidy(self) -> None:
        """There is nothing that grows but the diary."""

    def clear(self) -> None:
        """Its lock goes with its contenders, and its diary with the folder."""

    def operations(self) -> tuple[Operation, ...]:
        return ()

    def contenders(self) -> tuple[Target, ...]:
        with self._lock:
            living = [(name, child) for name, child in sorted(self._children.items()) if child.exit_code is None]
        return tuple(Target(name, name, child.pid, child.process.started, "") for name, child in living)

    def holders(self) -> tuple[Target, ...]:
        with self._lock:
            last, recent = self._diary.last, self._clock.now() - self._acted <= RECENT
        return tuple(each for each in self.contenders() if recent and last is not None and each.name == last.name)

    def finish(self) -> None:
        """Acts go on: they are the answers."""

    def stop(self) -> None:
        self._group.request_stop()
        self._group.join(ENDING)
        with self._lock:
            children = tuple(self._children.values())
        end_all([child.process for child in children], clock=self._clock, patience=ENDING)
        for child in children:
            child.kill()  # reaps it

    @property
    def _next(self) -> str:
        return f"beat-{self._beats}"

    def _launch(self, name: str) -> None:
        connection = self._gateway.connection
        command = [
            *(sys.executable, "-m", "lockd.ctl", "elect", NAME, f"--namespace={NAMESPACE}"),
            f"--ttl={format_duration(self._ttl)}",
            f"--endpoints={','.join(connection.urls)}",
            *(f"--{name}={path}" for name in ("cacert", "cert", "key") if (path := getattr(connection, name))),
            *([f"--tls-server-name={','.join(connection.names)}"] if connection.names else []),
            f"--prefix={self._plan.prefix}",
            *("--", sys.executable, "-I", "-S", str(_BEAT), str(self._file), name),
        ]
        child = Child(command, log=self._plan.logs / f"{name}.log", environment=environment())
        with self._lock:
            self._children[name] = child

    def _run(self) -> None:
        with self._file.open("rb") as diary:
            while not self._clock.wait(self._group.stop, STEP):
                self._read(diary.read())
                self._keep()

    def _read(self, data: bytes) -> None:
        now = self._clock.now()
        with self._lock:
            beats = len(tuple(self._diary.read(data)))
            self._acted = now if beats else self._acted
        for _ in range(beats):
            self._waiting.acknowledged(self._next, now)
            self._beats += 1
            self._waiting.asked([self._next], now)

    def _keep(self) -> None:
        """Start those again that have ended."""
        now = self._clock.now()
        for name, child in tuple(self._children.items()):
            if child.exit_code is None:
                continue
            if now >= self._due.setdefault(name, now + RESTART):
                del self._due[name]
                with suppress(OSError):  # tried again at the next look
                    self._launch(name)
