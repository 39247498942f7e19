"""Where log lines go: a writer that never raises and never makes its caller wait for a reader that has stalled."""

from __future__ import annotations

import os
import select
import stat
from typing import IO

PATIENCE = 0.1
"""Seconds that the first line waits when the reader of a pipe doesn't read; those after it don't wait at all."""

CHUNK = select.PIPE_BUF
"""Bytes that a pipe which polls as writable takes without blocking."""


class LineWriter:
    """Writes whole lines to a stream.

    A pipe, socket or terminal whose reader has stopped would block every thread that logs, an election's too. Lines are
    lost and counted instead. Not thread-safe: the caller holds a lock.
    """

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream
        self._poll: select.poll | None = None
        self._fd = -1
        self._stalled = False
        self._broken = False
        self._lost = 0
        try:
            fd = stream.fileno() if stream is not None else -1
            mode = os.fstat(fd).st_mode
        except (OSError, ValueError, AttributeError):  # a stream in memory, or a closed one
            return
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode):
            self._fd = fd
            self._poll = select.poll()
            self._poll.register(fd, select.POLLOUT)

    @property
    def lost(self) -> int:
        """Lines that were not, or not wholly, written since `forgive`."""
        return self._lost

    @property
    def writable(self) -> bool:
        """Would a line go out at once?"""
        return self._poll is None or self._ready(0.0)

    def forgive(self) -> None:
        """Start counting lost lines anew."""
        self._lost = 0

    def write(self, line: str) -> None:
        """Write `line`, which ends in a newline, or lose it."""
        try:
            written = self._to_stream(line) if self._poll is None else self._to_fd(line.encode(errors="replace"))
        except (OSError, ValueError):  # the reader is gone, the disk is full, the stream is closed
            written = False
        if not written:
            self._lost += 1

    def _to_stream(self, line: str) -> bool:
        if self._stream is None:  # standard error was closed when the process began
            return False
        self._stream.write(line)
        self._stream.flush()
        return True

    def _to_fd(self, data: bytes) -> bool:
        if self._broken:
            data = b"\n" + data
        rest = memoryview(data)
        while rest:
            if not self._ready(0.0 if self._stalled else PATIENCE):
                self._stalled = True
                return False
            self._stalled = False
            rest = rest[os.write(self._fd, rest[:CHUNK]) :]
            self._broken = bool(rest)
        return True

    def _ready(self, seconds: float) -> bool:
        assert self._poll is not None  # noqa: S101 - told to the type checker; callers looked
        return any(events & select.POLLOUT for _, events in self._poll.poll(seconds * 1000))
