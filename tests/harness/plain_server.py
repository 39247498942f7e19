"""A TCP server that says what it is told and notes how its connections end."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from chaos.proxy.connection import NO_LINGER, abort

if TYPE_CHECKING:
    from types import TracebackType


class Guest:
    """One connection, seen from the server."""

    def __init__(self, taken: socket.socket, *, echo: bool) -> None:
        self.socket = taken
        self.heard = b""
        self.end = ""
        """`closed` or `reset`, once it has ended."""
        self._echo = echo

    def start(self) -> None:
        """Listen to it from now on."""
        threading.Thread(target=self._run, daemon=True).start()

    def reset(self) -> None:
        """End it with a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self.socket.shutdown(socket.SHUT_RD)  # whoever reads lets go of it
        self.socket.close()

    def _run(self) -> None:
        try:
            while data := self.socket.recv(65536):
                self.heard += data
                if self._echo:
                    self.socket.sendall(data)
            self.end = "closed"
        except OSError:
            self.end = "reset"


class PlainServer:
    """Echoes, or only listens. A context manager."""

    def __init__(self, *, echo: bool = True) -> None:
        self.guests: list[Guest] = []
        self._echo = echo
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                taken, _ = self._listener.accept()
                guest = Guest(taken, echo=self._echo)
                self.guests.append(guest)  # first: once it is answered, it is to be found here
                guest.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for guest in self.guests:
            abort(guest.socket)


def dial(endpoint: str, *, timeout: float = 20.0) -> socket.socket:
    """A connection to `host:port`."""
    host, _, port = endpoint.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=timeout)


def ending(connection: socket.socket) -> str:
    """How it ended: `closed` or `reset`; what is said before is dropped."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        return "reset"
    return "closed"


def exchange(connection: socket.socket, said: bytes) -> bytes:
    """Say it to a server that echoes, and take as much back."""
    connection.sendall(said)
    return take(connection, len(said))


def take(connection: socket.socket, size: int) -> bytes:
    """So many bytes."""
    heard = b""
    while len(heard) < size:
        data = connection.recv(size - len(heard))
        if not data:
            break
        heard += data
    return heard
