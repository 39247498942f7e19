"""The terminal of a process that runs another in its stead: who has it, and how it was set."""

from __future__ import annotations

import os
import signal
import termios
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Terminal:
    """Standard input, if that is a terminal; lent to one process group and taken back."""

    def __init__(self) -> None:
        self._settings = None
        with suppress(termios.error, OSError):
            self._settings = termios.tcgetattr(0)

    @property
    def is_ours(self) -> bool:
        """Is our process group in the foreground? Then Ctrl-C and Ctrl-Z come to us."""
        return self._foreground() == os.getpgrp()

    def lend(self, group: int) -> bool:
        """Bring another group to the foreground if we are there."""
        if not self.is_ours:
            return False
        with _as_if_in_front(), suppress(OSError):
            os.tcsetpgrp(0, group)
            return True
        return False

    def take_back(self, group: int, *, reset: bool) -> None:
        """Come to the foreground again, if that group is there.

        Args:
            reset: Whoever had it was killed, and may have left it in a state of its own.
        """
        if self._foreground() != group:
            return
        with _as_if_in_front(), suppress(termios.error, OSError):
            os.tcsetpgrp(0, os.getpgrp())
            if reset and self._settings is not None:
                termios.tcsetattr(0, termios.TCSADRAIN, self._settings)

    def _foreground(self) -> int:
        try:
            return os.tcgetpgrp(0)
        except OSError:  # no terminal, or not the one that controls us
            return 0


@contextmanager
def _as_if_in_front() -> Iterator[None]:
    """Let a process in the background set the terminal without being stopped for it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTTOU,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
