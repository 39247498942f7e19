"""Loopback ports that nobody uses, outside the range that the system gives to outgoing connections."""

from __future__ import annotations

import os
import random
import socket
import threading
from collections import deque
from typing import Final

_RANGE: Final = range(20_000, 32_000)
_SHARE: Final = 200
"""Ports that one process gives out, one after the other: one that it gave comes again only after all the others."""


class _Share:
    """A part of the range, for one process alone for as long as it lives.

    A port is looked for a second or two before a program listens on it, and is free again while that program is down
    for a moment. Of two processes that looked at all ports, both would find it then.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._mark: socket.socket | None = None
        ports = list(_RANGE)
        random.shuffle(ports)  # where every share is taken
        for start in random.sample(_RANGE[::_SHARE], len(_RANGE) // _SHARE):
            mark = socket.socket(type=socket.SOCK_DGRAM)  # what ends with its process, and is in nobody's way
            try:
                mark.bind(("127.0.0.1", start))
            except OSError:
                mark.close()
                continue
            self._mark, ports = mark, list(range(start, start + _SHARE))
            break
        self._ports = deque(ports)

    def next(self) -> int:
        """The port that was given longest ago, whether or not it is free."""
        self._ports.rotate(-1)
        return self._ports[-1]

    def __len__(self) -> int:
        return len(self._ports)


_lock = threading.Lock()
_share: _Share | None = None


def free_ports(number: int) -> list[int]:
    """So many different ports on 127.0.0.1, or as many as there are.

    No other process is given them while this one lives, and no outgoing connection; a program may still listen on one.
    """
    global _share  # noqa: PLW0603 - one for the process
    with _lock:
        if _share is None or _share.owner != os.getpid():
            _share = _Share()
        found: list[int] = []
        for _ in range(len(_share)):
            if len(found) == number:
                break
            port = _share.next()
            if _free(port):
                found.append(port)
        return found


def _free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
