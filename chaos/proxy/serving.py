"""The proxy's process: it serves its links until it is asked to end."""

from __future__ import annotations

import resource
import signal
import socket
from typing import TYPE_CHECKING

from chaos.proxy.desk import Desk
from chaos.proxy.loop import READ, Loop
from component.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.proxy.exchange import Exchange


def serve(name: str, made: Callable[[Loop], Exchange]) -> None:
    """Serve until SIGTERM.

    Args:
        name: Of the socket at which it is told what to do.
        made: Makes the links' exchange.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    loop = Loop(SystemClock())
    bell, ringer = socket.socketpair()
    for end in (bell, ringer):
        end.setblocking(False)
    signal.set_wakeup_fd(ringer.fileno())
    signal.signal(signal.SIGTERM, lambda *_: loop.end())

    def quiet(_events: int) -> None:
        bell.recv(16)

    loop.watch(bell.fileno(), READ, quiet)
    Desk(name, made(loop), loop)
    loop.run()
