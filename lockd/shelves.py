"""Where a fence keeps the newest token: in memory, or in a file that outlives the process and a power cut."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from lockd.fencing import Newest, Token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class MemoryShelf:
    """For a service of one process: a restart forgets, so nobody who held the lock before it may outlive it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: Newest | None = None

    def update(self, change: Callable[[Newest | None], Newest | None]) -> None:
        with self._lock:
            self._newest = change(self._newest)


class FileShelf:
    """A file, for the threads of any number of processes of one host. What was let through survives a power cut.

    The file is replaced as a whole, and a lock is held on another beside it, `<name>.lock`, which stays. Locks are
    advisory: everybody must come this way. On a network file system they hold as far as its locks do.

    Args:
        path: In a folder that exists.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = path.with_name(f"{path.name}.lock")

    def update(self, change: Callable[[Newest | None], Newest | None]) -> None:
        """See `lockd.fencing.Shelf`.

        Raises:
            OSError: A file can't be read or written.
            ValueError: The file holds something else; it is left alone.
        """
        with self._alone():
            before = self._read()
            after = change(before)
            if after != before:
                self._replace(after)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        # Opened anew each time: locks of one open file don't keep the threads that share it apart.
        file = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def _read(self) -> Newest | None:
        try:
            document = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise self._refusal() from error
        match document:
            case {"cluster": str(cluster), "token": int(token)} if token > 0:
                return Newest(cluster, Token(token))
            case {"cluster": None, "token": None}:
                return None
            case _:
                raise self._refusal()

    def _refusal(self) -> ValueError:
        return ValueError(f"{self._path} is not a fence's file: give another, or remove it if no old holder is left")

    def _replace(self, newest: Newest | None) -> None:
        """On disk before anybody is let through: first the content, then the name."""
        cluster, token = (newest.cluster, newest.token) if newest is not None else (None, None)
        draft = self._path.with_name(f"{self._path.name}.draft")  # only one holds the lock, so one name will do
        try:
            file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            try:
                os.write(file, json.dumps({"cluster": cluster, "token": token}).encode() + b"\n")
                os.fsync(file)
            finally:
                os.close(file)
            draft.replace(self._path)
        except OSError:
            with suppress(OSError):
                draft.unlink()
            raise
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
