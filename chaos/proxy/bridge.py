"""Questions to the proxy of this container from outside of it: `python -m chaos.proxy.bridge`, lines in and out.

What a connection has set up ends with it, and it ends with the input.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys
from typing import Final

CHUNK: Final = 65536
NAME: Final = "lockd-links"
"""Under which the proxy listens: one alone is in a container."""


def main() -> None:
    """Pass on, until either side has no more to say."""
    with socket.socket(socket.AF_UNIX) as proxy, selectors.DefaultSelector() as selector:
        proxy.connect(b"\0" + NAME.encode())
        selector.register(proxy, selectors.EVENT_READ)
        selector.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                from_proxy = key.fileobj is proxy
                data = proxy.recv(CHUNK) if from_proxy else os.read(key.fd, CHUNK)
                if not data:
                    return
                if from_proxy:
                    _write(data)
                else:
                    proxy.sendall(data)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
