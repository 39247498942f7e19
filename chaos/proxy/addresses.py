"""Where the containers of a network are: their names resolved again and again, beside whoever needs it at once."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from component.clock import Clock

AGAIN: Final = 0.5
"""Seconds between two looks: a container that starts again may have another's address."""


class Addresses:
    """Keeps the last address of each name: that of a container that has ended doesn't resolve, and takes its time."""

    def __init__(
        self, names: Iterable[str], *, clock: Clock, resolve: Callable[[str], str] = socket.gethostbyname
    ) -> None:
        self._names = tuple(names)
        self._clock = clock
        self._resolve = resolve
        self._found: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The address of a name; "": it never had one."""
        return self._found.get(name, "")

    def name_of(self, address: str) -> str:
        """Whose address it is; "": nobody's."""
        return next((name for name, found in self._found.items() if found == address), "")

    def look(self, name: str) -> None:
        """Resolve it once."""
        try:
            found = self._resolve(name)
        except OSError:
            return
        if (other := self.name_of(found)) and other != name:
            del self._found[other]  # it has moved away, or has ended
        self._found[name] = found

    def follow(self) -> None:
        """Resolve all of them from now on, each on a thread of its own; they end with the process."""
        never = threading.Event()

        def run(name: str) -> None:
            while True:
                self.look(name)
                self._clock.wait(never, AGAIN)

        for name in self._names:
            threading.Thread(target=run, args=(name,), name=f"addresses/{name}", daemon=True).start()
