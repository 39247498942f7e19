"""What the engine tells of containers while they are hurt: stamped by it, to the nanosecond."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from chaos.cluster.interface import End

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chaos.compose.engine import Engine, Event
    from component.clock import Clock

SIGNALLED: Final = 128
"""An exit code above it says by which signal a process ended, as shells and init processes do."""

SLACK: Final = 0.01
"""Seconds by which the engine's stamps and ours may differ: one clock, read in two places."""


class Diary:
    """Follows the engine's events from `begin` to `end`, since it remembers only the last few hundred itself."""

    def __init__(self, engine: Engine, *, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._stop: Callable[[], None] | None = None

    def begin(self) -> None:
        """Follow from now on.

        Raises:
            EngineError: The engine can't be asked.
        """
        self._stop = self._engine.events(self._take)

    def end(self) -> None:
        """Follow no longer."""
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()

    def _take(self, event: Event) -> None:
        with self._lock:
            self._events.append(event)

    def told(self, container: str, what: str, since: float) -> str:
        """The first event of a kind since a moment in wall seconds, in words; "": none was told.

        Args:
            what: `die`, `pause`, `disconnect` ...
        """
        found = next((each for each in self._since(container, since) if each.what == what), None)
        if found is None:
            return ""
        code = f" with exit code {found.exit_code}" if what == "die" else ""
        return f"docker told {what} at {stamp(found.at)}{code}"

    def ends(self, names: Mapping[str, str], identity: Callable[[str, int, int], str]) -> tuple[End, ...]:
        """The ends so far, of containers with a name, on CLOCK_BOOTTIME.

        Args:
            identity: Of the run of a container that was begun and ended at so many nanoseconds.
        """
        shift = self._clock.now() - self._clock.wall()
        with self._lock:
            events = tuple(self._events)
        return tuple(
            End(
                name=names[each.container],
                identity=identity(each.container, began(events, each), each.at),
                code=exit_code(each.exit_code),
                at=each.at / 1e9 + shift,
            )
            for each in events
            if each.what == "die" and each.container in names
        )

    def _since(self, container: str, since: float) -> tuple[Event, ...]:
        if self._stop is None:
            return tuple(self._engine.past(container, since - SLACK, self._clock.wall()))
        with self._lock:
            return tuple(
                each for each in self._events if each.container == container and each.at / 1e9 >= since - SLACK
            )


def began(events: Sequence[Event], end: Event) -> int:
    """When the run began that an event ended; 0: before all of them."""
    starts = [
        each.at for each in events if each.what == "start" and each.container == end.container and each.at <= end.at
    ]
    return max(starts, default=0)


def exit_code(code: int) -> int:
    """As processes of this host have it: -9 for 137."""
    return SIGNALLED - code if code > SIGNALLED else code


def stamp(nanoseconds: int) -> str:
    """RFC 3339 with all nine digits."""
    seconds, rest = divmod(nanoseconds, 10**9)
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix('+00:00')}.{rest:09}Z"
