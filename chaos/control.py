"""Questions and answers between our processes: JSON, one document a line, over a unix socket that has no file.

Its name is in the kernel's table and goes with the process that listens; only this user's processes are heard.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import Any, Final, Protocol, Self

BACKLOG: Final = 64
CHUNK: Final = 65536
_CREDENTIALS: Final = struct.Struct("3i")


class Unheard(Exception):
    """Nobody answers: the process has ended, or never was."""


class Refused(Exception):
    """The answer is that it can't be done; the text says why."""


class Wire(Protocol):
    """What carries questions and answers: a socket, or what is like one."""

    def sendall(self, data: bytes, /) -> None: ...

    def recv(self, most: int, /) -> bytes: ...

    def close(self) -> None: ...


class Conversation:
    """One connection, for questions. A context manager."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._rest = b""

    def ask(self, what: str, **fields: Any) -> Any:
        """The answer to a question.

        Raises:
            Unheard: None came.
            Refused: It can't be done.
        """
        try:
            self._wire.sendall(encode({"ask": what, **fields}))
            while b"\n" not in self._rest:
                data = self._wire.recv(CHUNK)
                if not data:
                    raise Unheard("it has ended")
                self._rest += data
        except OSError as error:
            raise Unheard(str(error)) from error
        line, _, self._rest = self._rest.partition(b"\n")
        answer = json.loads(line)
        if "refused" in answer:
            raise Refused(answer["refused"])
        return answer["answer"]

    def close(self) -> None:
        """Hang up."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Caller(Conversation):
    """One with a process of this host, by the name under which it listens."""

    def __init__(self, name: str, *, timeout: float) -> None:
        """Connect.

        Args:
            timeout: Seconds until an answer must be there.

        Raises:
            Unheard: Nobody listens.
        """
        dialled = socket.socket(socket.AF_UNIX)
        dialled.settimeout(timeout)
        try:
            dialled.connect(address_of(name))
        except OSError as error:
            dialled.close()
            raise Unheard(f"{name}: {error.strerror or error}") from error
        super().__init__(dialled)


class Heard:
    """One connection, from the side that answers; it never waits."""

    def __init__(self, taken: socket.socket) -> None:
        taken.setblocking(False)
        self.socket = taken
        self._rest = b""

    def questions(self) -> list[dict[str, Any]] | None:
        """Those that have come; None: the caller has hung up, or talks nonsense."""
        try:
            data = self.socket.recv(CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        try:
            found = [json.loads(line) for line in lines]
        except ValueError:
            return None
        return found if all(isinstance(each, dict) for each in found) else None

    def answer(self, answer: Any) -> None:
        """Give the answer to the oldest question that has none.

        Raises:
            OSError: The caller doesn't take it.
        """
        self.socket.sendall(encode({"answer": answer}))

    def refuse(self, why: str) -> None:
        """Say that it can't be done.

        Raises:
            OSError: The caller doesn't take it.
        """
        self.socket.sendall(encode({"refused": why}))


def listen(name: str) -> socket.socket:
    """A socket that never waits, at which `take` finds callers.

    Raises:
        OSError: Somebody listens under that name.
    """
    listener = socket.socket(socket.AF_UNIX)
    listener.setblocking(False)
    try:
        listener.bind(address_of(name))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def take(listener: socket.socket) -> Heard | None:
    """The next caller; None: there is none."""
    while True:
        try:
            taken, _ = listener.accept()
        except OSError:
            return None
        credentials = taken.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        if _CREDENTIALS.unpack(credentials)[1] in (os.getuid(), 0):
            return Heard(taken)
        taken.close()


def encode(document: dict[str, Any]) -> bytes:
    """One line."""
    return json.dumps(document).encode() + b"\n"


def address_of(name: str) -> bytes:
    """Of the socket that has a name."""
    return b"\0" + name.encode()
