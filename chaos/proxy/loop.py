"""What waits for sockets and for moments: one thread, which sleeps while nothing happens."""

from __future__ import annotations

import heapq
import itertools
import math
import select
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock

READ: Final = select.EPOLLIN
WRITE: Final = select.EPOLLOUT
BROKEN: Final = select.EPOLLERR | select.EPOLLHUP


class Loop:
    """Calls back from `run`, and from nowhere else."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._poll = select.epoll()
        self._called: dict[int, Callable[[int], None]] = {}
        self._moments: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._ended = False

    def watch(self, fd: int, events: int, call: Callable[[int], None]) -> None:
        """Call with the events of a descriptor; errors and hang-ups are always among them."""
        self._called[fd] = call
        self._poll.register(fd, events)

    def change(self, fd: int, events: int) -> None:
        """Other events from now on."""
        self._poll.modify(fd, events)

    def forget(self, fd: int) -> None:
        """No events any more: before the descriptor is closed."""
        if self._called.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def at(self, moment: float, call: Callable[[], None]) -> None:
        """Call once, as soon as that moment has come."""
        heapq.heappush(self._moments, (moment, next(self._order), call))

    def end(self) -> None:
        """Have `run` return."""
        self._ended = True

    def run(self) -> None:
        """Until `end` is called."""
        while not self._ended:
            for fd, events in self._poll.poll(self._patience()):
                call = self._called.get(fd)  # an earlier one may have closed it
                if call is not None:
                    call(events)
            now = self.clock.now()
            while self._moments and self._moments[0][0] <= now:
                heapq.heappop(self._moments)[2]()
        self._poll.close()

    def _patience(self) -> float | None:
        """Seconds to sleep: whole milliseconds, rounded up, so as not to wake up early again and again."""
        if not self._moments:
            return None
        return max(0, math.ceil((self._moments[0][0] - self.clock.now()) * 1000)) / 1000
