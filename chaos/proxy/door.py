"""A listening port of the proxy: that of one link to etcd, or of all links to one replica's presence."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

from chaos.proxy.connection import Connection, abort
from chaos.proxy.loop import READ
from lockd.etcd.loopback import free_ports

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.proxy.loop import Loop
    from chaos.proxy.route import Address, Route

HOST: Final = "127.0.0.1"
BACKLOG: Final = 128
_ATTEMPTS: Final = 10


class Door:
    """A port that is kept as long as the door: closed, it refuses connections, and nobody else gets it.

    Args:
        route: The link that a connection belongs to, by the address it comes from.
        routes: All of the links that share it.
    """

    def __init__(
        self,
        loop: Loop,
        routes: tuple[Route, ...],
        route: Callable[[Address, Address], Route],
        *,
        bind: Callable[[], tuple[socket.socket, Address]],
    ) -> None:
        """Listen.

        Args:
            bind: Gives a socket that is bound, and where others dial it.

        Raises:
            OSError: There is no port.
        """
        self._loop = loop
        self._routes = routes
        self._route = route
        self._socket, self.address = bind()
        self._open = False
        self.refresh()

    @property
    def endpoint(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    def refresh(self) -> None:
        """Listen, or don't if every link that comes in here is refused."""
        wanted = not all(route.is_closed() for route in self._routes)
        if wanted and not self._open:
            self._socket.listen(BACKLOG)
            self._loop.watch(self._socket.fileno(), READ, self._accept)
        elif self._open and not wanted:
            self._loop.forget(self._socket.fileno())
            self._socket.shutdown(socket.SHUT_RDWR)  # it listens no longer, and stays bound
        self._open = wanted

    def close(self) -> None:
        """Give the port back."""
        self._loop.forget(self._socket.fileno())
        self._socket.close()

    def _accept(self, _events: int) -> None:
        while True:
            try:
                taken, dialler = self._socket.accept()
            except OSError:  # none is left, or it ended before it was taken
                return
            route = self._route(dialler, self.address)
            route.count["accepted"] += 1
            if route.fails_connections():
                route.fail_connection()
                abort(taken)
            else:
                Connection(self._loop, route, taken)


def bound_to(host: str, port: int) -> socket.socket:
    """A socket that is bound, and never waits.

    Raises:
        OSError: Somebody else has that port.
    """
    bound = socket.socket()
    bound.setblocking(False)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def anywhere() -> tuple[socket.socket, Address]:
    """A socket on a free port of this host.

    Raises:
        OSError: There is none.
    """
    for attempt in range(_ATTEMPTS):
        try:
            bound = bound_to(HOST, free_ports(1)[0])
        except OSError:  # somebody else was faster
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            host, port = bound.getsockname()
            return bound, (host, port)
    raise AssertionError("unreachable")
