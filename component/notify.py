"""What a process tells the service manager that started it, by systemd's sd_notify protocol."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST: Final = 4096
"""Bytes of a message."""


class Notifier:
    """Sends messages to the manager's socket, if there is one. It never fails: nobody here could mend that.

    Attributes:
        watchdog: Seconds within which the manager wants to hear a sign of life, again and again; None: it doesn't.
    """

    def __init__(self, address: str = "", *, watchdog: float | None = None) -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self.watchdog = watchdog

    @classmethod
    def of(cls, environment: Mapping[str, str], *, pid: int | None = None) -> Notifier:
        """From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, as the manager sets them for one process."""
        asked = environment.get("WATCHDOG_USEC", "")
        meant = environment.get("WATCHDOG_PID") in {None, "", str(os.getpid() if pid is None else pid)}
        seconds = int(asked) / 1e6 if asked.isascii() and asked.isdigit() and meant else 0.0
        return cls(environment.get("NOTIFY_SOCKET", ""), watchdog=seconds or None)

    def __bool__(self) -> bool:
        """Does anybody listen?"""
        return bool(self._address)

    def tell(self, *words: str) -> None:
        """Send assignments such as `READY=1`, in one message."""
        if not self or not words:
            return
        message = "\n".join(" ".join(word.split("\n")) for word in words).encode()[:_LONGEST]
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.setblocking(False)
                sender.sendto(message, self._address)
        except OSError:
            return
