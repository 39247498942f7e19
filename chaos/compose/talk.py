"""What a command inside a container is told, and what it says: the engine's raw stream as a wire."""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Any, Final

_HEAD: Final = struct.Struct(">B3xI")
"""Before each piece of what a command says: by which stream, and how many bytes."""


class Talk:
    """A `chaos.control.Wire`: a raw stream, in which what a command says comes in frames with heads of eight bytes."""

    def __init__(self, opened: Any, *, timeout: float) -> None:
        """Take over what `exec_start(socket=True)` gives.

        Args:
            timeout: Seconds until an answer must be there.
        """
        self._opened = opened
        self._socket: socket.socket = getattr(opened, "_sock", opened)
        self._socket.settimeout(timeout)
        self._left = 0

    def sendall(self, data: bytes, /) -> None:
        self._socket.sendall(data)

    def recv(self, most: int, /) -> bytes:
        while not self._left:
            head = b""
            while len(head) < _HEAD.size:
                more = self._socket.recv(_HEAD.size - len(head))
                if not more:
                    return b""
                head += more
            self._left = _HEAD.unpack(head)[1]
        data = self._socket.recv(min(most, self._left))
        self._left -= len(data)
        return data

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._opened.close()
        self._socket.close()
