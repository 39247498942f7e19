"""Files that are read again when they change, as certificates do that are renewed under a running server."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from component import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from component.clock import Clock

T = TypeVar("T")

EVERY: Final = 1.0
"""Seconds between two looks at the files, at least."""

_log = logs.get(__name__)


class Watched(Generic[T]):
    """What files say. It is looked at when it is asked for, so files that nobody needs cost nothing.

    What can't be read again leaves what was read before in force, and is tried again: a certificate is replaced before
    its key, or the other way round.

    Args:
        paths: The files that `load` reads.
        load: Reads them; ValueError, one line, when they can't be used.

    Raises:
        ValueError: The first reading failed.
    """

    def __init__(self, paths: Sequence[Path], load: Callable[[], T], *, clock: Clock) -> None:
        self._paths = tuple(paths)
        self._load = load
        self._clock = clock
        self._lock = threading.Lock()
        self._seen = self._look()  # before the reading: what is written meanwhile is seen as a change
        self._value = load()
        self._looked = clock.now()
        self._told = ""

    @property
    def value(self) -> T:
        """What the files said when they were last read with success."""
        with self._lock:
            now = self._clock.now()
            if now - self._looked >= EVERY:
                self._looked = now
                self._read_again()
            return self._value

    def _read_again(self) -> None:
        seen = self._look()
        if seen == self._seen:
            return
        names = ",".join(map(str, self._paths))
        try:
            self._value = self._load()
        except ValueError as error:
            if str(error) != self._told:
                _log.warning("changed files cannot be used, what they said before stays in force", error=error)
                self._told = str(error)
            return
        self._seen, self._told = seen, ""
        _log.info("changed files were read again", files=names)

    def _look(self) -> tuple[tuple[int, int, int, int] | None, ...]:
        return tuple(map(_signature, self._paths))


def _signature(path: Path) -> tuple[int, int, int, int] | None:
    """Changes when the file does, or when a link on the way to it is turned to another file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_dev
