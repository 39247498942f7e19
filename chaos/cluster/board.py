"""What a supervisor shows in cluster.json: kept up to date as far as the disk allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chaos.cluster import state as files
from chaos.cluster.state import FILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from chaos.cluster.state import ClusterState
    from component.clock import Clock

RETRY: Final = 5.0
"""Seconds after which a failed write is tried again if nothing changes."""


class Board:
    """Owned by one thread. A write that fails after the first is told once and tried again."""

    def __init__(self, folder: Path, state: ClusterState, *, clock: Clock, tell: Callable[[str], None]) -> None:
        """Show it for the first time.

        Raises:
            OSError: It can't be written.
        """
        files.write(folder, state)
        self._folder = folder
        self._clock = clock
        self._tell = tell
        self._shown = self._tried = state
        self._again = 0.0

    def show(self, state: ClusterState) -> None:
        """Write it if it isn't there: at each change, and every few seconds after a failure."""
        if state == self._shown or (state == self._tried and self._clock.now() < self._again):
            return
        changed, self._tried = state != self._tried, state
        try:
            files.write(self._folder, state)
        except OSError as error:
            self._again = self._clock.now() + RETRY
            if changed:
                self._tell(f"{self._folder / FILE}: {error.strerror}: it is out of date until it can be written")
        else:
            self._shown = state
