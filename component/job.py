"""A command as a job: run by a ward, with the signals and the terminal that are meant for it."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Final

from component.terminal import Terminal
from component.ward import Ended, Gone, NotStarted, Started, Stopped, Ward, Warned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from component.ward import Event

FOR_ALL: Final = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH})
"""Signals that a terminal sends to a whole process group."""

FOR_ONE: Final = frozenset({signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM})
"""Signals for the command alone, which may want to tell its children in its own way."""

_FOR_WANT_OF_A_TERMINAL: Final = frozenset({signal.SIGTTIN, signal.SIGTTOU})
_BY_JOB_CONTROL: Final = _FOR_WANT_OF_A_TERMINAL | {signal.SIGTSTP}


class Job:
    """One command, the only child of this process, started at most once. `take` and `pass_on` are for the main thread.

    Args:
        sink: Given each event of the ward, on a thread of the ward; hand it to `take` on the main thread.
        descriptors: Passed on to the command beside the standard ones.

    Attributes:
        warned: Its time was nearly over, and it was asked to end.
        ended: How the command itself ended, or why it could not begin.
    """

    def __init__(self, command: Sequence[str], sink: Callable[[Event], None], descriptors: Sequence[int]) -> None:
        self.warned = False
        self.ended: Ended | NotStarted | None = None
        self._command = command
        self._sink = sink
        self._descriptors = descriptors
        self._terminal = Terminal()
        self._ward: Ward | None = None
        self._group = 0
        self._early: list[signal.Signals] = []

    @property
    def begun(self) -> bool:
        return self._ward is not None

    @property
    def over(self) -> bool:
        """Is nothing of it left, or was there never anything?"""
        return self._ward is None or self._ward.gone.is_set()

    # --- for any thread

    def start(self, environment: Mapping[str, str], *, warn_at: float, kill_at: float) -> Ward:
        """Run it; in the foreground, if that is where we are.

        Raises:
            OSError: There is no process to be had.
        """
        self._ward = Ward(
            self._command,
            self._sink,
            environment=environment,
            warn_at=warn_at,
            kill_at=kill_at,
            foreground=self._terminal.is_ours,
            descriptors=self._descriptors,
            alone=True,
        )
        return self._ward

    def ask(self) -> None:
        """Ask all of it to end."""
        if self._ward is not None:
            self._ward.signal(signal.SIGTERM, everybody=True)
            self._ward.signal(signal.SIGCONT, everybody=True)  # a stopped process takes no other signal

    def until(self, warn_at: float, kill_at: float) -> None:
        """It may run on until then."""
        if self._ward is not None:
            self._ward.until(warn_at, kill_at)

    def kill(self, patience: float) -> None:
        """Kill all of it; its warden too if that takes longer."""
        if self._ward is not None:
            self._ward.kill(patience)

    # --- for the main thread

    def pass_on(self, number: signal.Signals) -> None:
        """A signal came for it."""
        if not self._group:
            self._early.append(number)
        elif number is signal.SIGCONT:
            self._go_on()
        elif self._ward is not None:
            self._ward.signal(number, everybody=number in FOR_ALL)

    def take(self, event: Event) -> None:
        """Something happened to it."""
        match event:
            case Started(group=group):
                self._group = group
                for number in self._early:
                    self.pass_on(number)
            case Warned():
                self.warned = True
            case Stopped(number=number):
                self._stopped(number)
            case Ended() | NotStarted():
                self.ended = event
            case Gone():
                killed = not isinstance(self.ended, Ended) or self.ended.by_signal
                self._terminal.take_back(self._group, reset=killed)

    def _stopped(self, number: int) -> None:
        """It is stopped as a shell stops a job: so are we then, for whoever waits for us to see."""
        if number in _FOR_WANT_OF_A_TERMINAL and self._terminal.is_ours:
            self._go_on()
        elif number in _BY_JOB_CONTROL:
            handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            os.killpg(0, signal.SIGTSTP)  # without effect where nobody is who could let us go on again
            signal.signal(signal.SIGTSTP, handler)
            self._go_on()

    def _go_on(self) -> None:
        self._terminal.lend(self._group)
        if self._ward is not None:
            self._ward.signal(signal.SIGCONT, everybody=True)
