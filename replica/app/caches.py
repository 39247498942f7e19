"""When the caches are filled: before the election, so that a standby is warm, or by the leader alone."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from component import logs, memory

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from replica.cache.informers import Informers

_log = logs.get("replica")


class Caches:
    """The informers of a replica, until they have synced.

    Args:
        delayed: `delayCacheUntilActive`: nothing is cached before this replica leads.
    """

    def __init__(self, informers: Informers, *, delayed: bool) -> None:
        self._informers = informers
        self.delayed = delayed
        self._begun = False

    def fill(self, stop: threading.Event, *, over: Callable[[], bool], tick: Callable[[], object] = int) -> bool:
        """Start the informers and wait until all have synced; False when it is over before.

        Args:
            stop: Wakes the wait.
            over: Asked at least each second.
            tick: Called at least each second: it goes on.
        """
        self._begun = True
        self._informers.start()
        while not over():
            tick()
            if self._informers.wait_for_sync(stop, timeout=1.0):
                _log.info("caches have synced", revision=self._informers.barrier.applied)
                # What is cached stays: a full collection over it would hold up a renewal for nothing.
                gc.collect()
                gc.freeze()
                memory.give_back()
                return True
        return False

    def problem(self) -> str | None:
        """A readiness check. A standby that caches nothing on purpose is ready."""
        return self._informers.problem() if self._begun or not self.delayed else None
