"""The proxy's process: `python -m chaos.proxy NAME`, told what to do at the unix socket of that name."""

from __future__ import annotations

import resource
import signal
import socket
import sys

from chaos.proxy.desk import Desk
from chaos.proxy.exchange import Exchange
from chaos.proxy.loop import READ, Loop
from component.clock import SystemClock


def main(name: str) -> None:
    """Serve until SIGTERM."""
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
    Desk(name, Exchange(loop), loop)
    loop.run()


if __name__ == "__main__":
    main(sys.argv[1])
