"""Loopback ports that nobody uses, outside the range that the system gives to outgoing connections."""

from __future__ import annotations

import random
import socket
from typing import Final

_RANGE: Final = range(20_000, 32_000)


def free_ports(number: int) -> list[int]:
    """So many different ports on 127.0.0.1. Others may take them still, but no outgoing connection does."""
    found: list[int] = []
    for port in random.sample(_RANGE, len(_RANGE)):  # two programs that look at once shall not find the same
        if len(found) == number:
            break
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
    return found
