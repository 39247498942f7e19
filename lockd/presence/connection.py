"""One dialled connection: what was heard on it, and how it ended."""

from __future__ import annotations

import errno
import os
import select
import socket
import ssl
from enum import Enum
from typing import TYPE_CHECKING

from lockd.presence import address
from lockd.presence.wire import Heard

if TYPE_CHECKING:
    from component.clock import Clock

SLICE = 0.02
"""Seconds that one wait takes at most off a patience: a process that stood still has not waited."""

_CHUNK = 4096
_READS = 16
"""Reads in a row: who says that much is no presence."""

_OWN_TROUBLE = frozenset(
    {
        *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EADDRNOTAVAIL),
        *(errno.ENETDOWN, errno.ENETUNREACH, errno.EPERM, errno.EACCES),
    }
)
"""What keeps this process from dialling whoever there is: it says nothing about the peer."""


class OwnTroubleError(Exception):
    """This process can't dial; nothing follows for the peer."""


class End(Enum):
    """How a connection ended."""

    CLOSED = "closed"
    RESET = "reset"
    GOODBYE = "goodbye"
    FAILED = "failed"
    """In a way that proves nothing: a timeout, an error of TLS, or something that is no presence."""


class Patience:
    """Seconds of waiting that are left. Only what was really waited for counts.

    Whoever was stopped, or kept from running, comes back to find its deadline passed; but what it waited for lies in
    the socket. So each wait takes off what it was asked for at most, and the socket is looked at after each.
    """

    def __init__(self, seconds: float, clock: Clock) -> None:
        self.left = seconds
        self._clock = clock

    def wait(self, number: int, event: int) -> bool:
        """Wait a little for an event of a file descriptor; was there one?"""
        poll = select.poll()
        poll.register(number, event)
        asked, before = min(max(self.left, 0.0), SLICE), self._clock.now()
        found = bool(poll.poll(asked * 1000))
        self.left -= min(asked, self._clock.now() - before)
        if asked and self.left < 1e-6:
            self.left = 0.0
        return found


def resolve(where: str) -> tuple[socket.AddressFamily, tuple[str, int]]:
    """The family and the address to connect to; may take as long as the resolver does.

    Raises:
        OSError: There is no such host.
    """
    host, port = address.parse(where)
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return found[0], (str(found[4][0]), int(found[4][1]))


class Connection:
    """A socket that reads, and never writes but for TLS. It belongs to one thread."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.heard = Heard()

    @classmethod
    def dial(
        cls,
        family: socket.AddressFamily,
        where: tuple[str, int],
        tls: ssl.SSLContext | None,
        patience: Patience,
    ) -> Connection | None:
        """Connect and hear who is there; None when nobody says so in time.

        Raises:
            OwnTroubleError: It has nothing to do with the peer.
        """
        try:
            raw = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:
            raise OwnTroubleError(error.strerror) from error
        raw.setblocking(False)
        problem = raw.connect_ex(where)
        while problem == errno.EINPROGRESS and patience.left > 0:
            if patience.wait(raw.fileno(), select.POLLOUT):
                problem = raw.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                break
        if problem:
            raw.close()
            if problem in _OWN_TROUBLE:
                raise OwnTroubleError(os.strerror(problem))
            return None
        connection = cls(raw if tls is None else tls.wrap_socket(raw, do_handshake_on_connect=False))
        if connection._shake_hands(patience) and connection._introduced(patience):
            return connection
        connection.close()
        return None

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> End | None:
        """Take what there is; None while the connection stands."""
        end: End | None = None
        try:
            for _ in range(_READS):
                data = self._socket.recv(_CHUNK)
                if not data:
                    end = End.CLOSED
                    break
                self.heard.take(data)
                if self.heard.strange:
                    return End.FAILED
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except ssl.SSLEOFError:
            end = End.CLOSED
        except ConnectionResetError:
            end = End.RESET
        except OSError:  # a timeout of the system, a broken record of TLS
            end = End.FAILED
        return End.GOODBYE if self.heard.goodbye else end

    def close(self) -> None:
        self._socket.close()

    def _shake_hands(self, patience: Patience) -> bool:
        if not isinstance(self._socket, ssl.SSLSocket):
            return True
        while True:
            try:
                self._socket.do_handshake()
            except ssl.SSLWantReadError:
                event = select.POLLIN
            except ssl.SSLWantWriteError:
                event = select.POLLOUT
            except OSError:
                return False
            else:
                return True
            if not patience.wait(self.fileno(), event) and patience.left <= 0:
                return False

    def _introduced(self, patience: Patience) -> bool:
        """Wait for the first line."""
        while True:
            end = self.read()
            if self.heard.identity:
                return True
            if end is not None:
                return False
            if not patience.wait(self.fileno(), select.POLLIN) and patience.left <= 0:
                return False
