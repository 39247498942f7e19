"""Processes of one kind that are kept running: started, watched, started again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from chaos.cluster.process import end_all
from chaos.cluster.state import EndState
from chaos.errors import NotStarted
from component.process import Child
from lockd.errors import ConfigError
from lockd.flags import USAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from component.clock import Clock
    from component.process import Process

RESTART_DELAY: Final = 1.0
"""Seconds between the end of a process and its next start."""

PATIENCE: Final = 12.0
"""Seconds that all of them together may take to end when asked: the drain timeout and the exit bound, with room."""


ENDING: Final = 2.0
"""Seconds that the last threads of a process that has ended may take, before it counts as running."""


class Start(Protocol):
    """One start of one process."""

    @property
    def name(self) -> str: ...

    @property
    def log(self) -> Path: ...

    @property
    def title(self) -> str:
        """What is told of whoever starts again, such as its identity."""
        ...

    def command(self) -> list[str]: ...

    def environment(self) -> dict[str, str]: ...


S = TypeVar("S", bound=Start)


@dataclass(slots=True)
class Slot(Generic[S]):
    """One name's place: the process that has it now, or when the next one gets it.

    Attributes:
        due: When it starts again; None: it runs, or it never will by itself.
    """

    start: S
    child: Child
    restarts: int = 0
    due: float | None = None
    ended: bool = False


class Keeper(Generic[S]):
    """Owned by one thread. Its processes end with this one.

    Args:
        prepare: Makes the start of a name, given how often it was started again and its start before.
        started: Told of each process.

    Attributes:
        ends: Of its processes, in order.
    """

    def __init__(
        self,
        prepare: Callable[[str, int, S | None], S],
        *,
        started: Callable[[S, Child], None],
        restart: bool,
        clock: Clock,
        tell: Callable[[str], None],
    ) -> None:
        self.slots: list[Slot[S]] = []
        self.ends: list[EndState] = []
        self._prepare = prepare
        self._started = started
        self._restart = restart
        self._clock = clock
        self._tell = tell

    def start(self, names: Sequence[str]) -> None:
        """Start them all.

        Raises:
            OSError: One can't be started.
        """
        for name in names:
            start = self._prepare(name, 0, None)
            self.slots.append(Slot(start, self._spawn(start)))

    def step(self) -> None:
        """Note who has ended, start who is due.

        Raises:
            ConfigError: The very first process of a name ended with the code for usage: another start is of no use.
        """
        for slot in self.slots:
            self._note(slot)
            if slot.due is not None and self._clock.now() >= slot.due:
                self._again(slot)

    def again(self, name: str) -> Process | None:
        """Start a name at once that has ended; None: there is no such name here.

        Returns:
            Its process, the present one if it runs.

        Raises:
            NotStarted: It can't be.
        """
        slot = next((slot for slot in self.slots if slot.start.name == name), None)
        if slot is None:
            return None
        if slot.child.is_over(ENDING, clock=self._clock):
            self._note(slot)
        if slot.ended and not self._again(slot):
            raise NotStarted((f"{name} can't be started: its log is {slot.start.log}",), 1)
        return slot.child.process

    def processes(self) -> list[Process]:
        """All of them, running or not."""
        return [slot.child.process for slot in self.slots]

    def stop(self) -> None:
        """End them all: in good order if they can, in any case."""
        end_all(self.processes(), clock=self._clock, patience=PATIENCE)
        for slot in self.slots:
            slot.child.kill()  # reaps it

    def _note(self, slot: Slot[S]) -> None:
        if slot.ended or (code := slot.child.exit_code) is None:
            return
        if code == USAGE and slot.restarts == 0:
            raise ConfigError((f"{slot.start.name} refuses its flags: {_last_line(slot.start.log)}",))
        slot.ended = True
        now = self._clock.now()
        self.ends.append(EndState(slot.start.name, slot.start.title, slot.child.pid, code, now))
        slot.due = now + RESTART_DELAY if self._restart else None
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        self._tell(f"{slot.start.name} {how}; its log is {slot.start.log}")

    def _again(self, slot: Slot[S]) -> bool:
        slot.restarts += 1
        slot.start = self._prepare(slot.start.name, slot.restarts, slot.start)
        try:
            slot.child = self._spawn(slot.start)
        except OSError as error:
            slot.due = self._clock.now() + RESTART_DELAY
            self._tell(f"{slot.start.name} can't be started: {error.strerror}: tried again")
            return False
        slot.due, slot.ended = None, False
        self._tell(f"{slot.start.name} started again as {slot.start.title} (pid {slot.child.pid})")
        return True

    def _spawn(self, start: S) -> Child:
        child = Child(start.command(), log=start.log, environment=start.environment())
        try:
            self._started(start, child)
        except BaseException:
            child.kill()
            raise
        return child


def _last_line(log: Path) -> str:
    """The end of a log, which is where a command says what is wrong with its flags."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.removeprefix("error: ") for line in reversed(lines) if line.strip()), f"see {log}")
