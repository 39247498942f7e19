"""Listens for standbys: tells each who is here, reads nothing, and is gone when the process is.

What ends such a connection without a goodbye is evidence that this process ended, so nothing here may end one: there
is no idle time, no greatest age and no keepalive. The kernel closes them when the process dies, and that is the point.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from component import listening, logs
from component.clock import LONGEST_WAIT
from lockd.presence import address, wire

if TYPE_CHECKING:
    from component.clock import Clock
    from lockd.presence.config import PresenceConfig

MOST = 64
"""Connections kept; who comes beyond them hears a goodbye at once. As many again may be shaking hands."""

HANDSHAKE = 2.0
"""Seconds that TLS may take before anything was told."""

_PAUSE = 0.1
"""Seconds after a failed accept, as without a file descriptor left."""

_GONE = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR

_log = logs.get("lockd.presence")


@dataclass(slots=True, eq=False)
class _Peer:
    """One connection; `until` is when its handshake is given up, None once it was told who is here."""

    socket: socket.socket
    until: float | None = None


class PresenceServer:
    """One socket and those who dialled it, all in one thread: `run`.

    Args:
        identity: What is told first.
    """

    def __init__(self, identity: str, config: PresenceConfig, *, clock: Clock) -> None:
        self._hello = wire.hello(identity)
        self._config = config
        self._tls = config.tls.server() if config.tls is not None else None
        self._clock = clock
        self._listener: socket.socket | None = None
        self._peers: dict[int, _Peer] = {}
        self._poll = select.epoll()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._parting = threading.Event()
        self._parted = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._lock = threading.Lock()

    def listen(self) -> str:
        """Take the port; what the others are to dial.

        Raises:
            CannotListen: As when the port is in use.
        """
        host, port = address.parse(self._config.bind)
        self._listener = listening.listen(host, port)
        self._listener.setblocking(False)
        bound, bound_port = self._listener.getsockname()[:2]
        self._poll.register(self._listener, select.EPOLLIN)
        self._poll.register(self._bell, select.EPOLLIN)
        if not self._config.advertise:
            return address.join(bound, bound_port)
        said, said_port = address.parse(self._config.advertise)
        return address.join(said, said_port or bound_port)

    @property
    def connections(self) -> int:
        """Those that have been told who is here."""
        return sum(peer.until is None for peer in list(self._peers.values()))

    def run(self, stop: threading.Event) -> None:
        """Serve until `stop` is set, or the parting. Without that, all stays open: the process's end closes it."""
        self._idle.clear()
        while not stop.is_set() and not self._parting.is_set():
            events = self._poll.poll(LONGEST_WAIT if not self._shaking() else _PAUSE)
            if self._parting.is_set():
                break
            for number, _ in events:
                if self._listener is not None and number == self._listener.fileno():
                    self._accept(self._listener, stop)
                elif (peer := self._peers.get(number)) is not None:
                    self._hear(peer)
            for peer in self._shaking():
                if peer.until is not None and self._clock.now() >= peer.until:
                    self._drop(peer)
        self._idle.set()
        if self._parting.is_set():
            self._part()

    def say_goodbye(self, *, within: float) -> None:
        """Let everybody know that the end of the connections says nothing, and end them."""
        self._parting.set()
        self._ring()
        if self._idle.is_set():  # nobody serves any more
            self._part()
        self._clock.wait(self._parted, within)

    def wake(self) -> None:
        """Have `run` look at its stop event."""
        self._ring()

    def close(self) -> None:
        """End the connections without a word, once `run` has returned: for a replica that is not the process."""
        for peer in list(self._peers.values()):
            self._drop(peer)
        if self._listener is not None:
            self._listener.close()
        bell, self._bell = self._bell, -1
        if bell >= 0:
            os.close(bell)
            self._poll.close()

    def _ring(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # it rings already, or all is closed
            os.eventfd_write(self._bell, 1)

    def _shaking(self) -> list[_Peer]:
        return [peer for peer in self._peers.values() if peer.until is not None] if self._tls is not None else []

    def _accept(self, listener: socket.socket, stop: threading.Event) -> None:
        try:
            accepted, _ = listener.accept()
        except OSError as error:
            if not isinstance(error, BlockingIOError | ConnectionAbortedError):
                _log.warning("presence connection not accepted", error=error.strerror)
                self._clock.wait(stop, _PAUSE)
            return
        accepted.setblocking(False)
        with contextlib.suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is None:
            self._greet(_Peer(accepted))
        elif len(self._shaking()) >= MOST:
            accepted.close()
        else:
            secured = self._tls.wrap_socket(accepted, server_side=True, do_handshake_on_connect=False)
            peer = _Peer(secured, until=self._clock.now() + HANDSHAKE)
            self._peers[secured.fileno()] = peer
            self._poll.register(secured, _GONE | select.EPOLLIN)
            self._hear(peer)

    def _hear(self, peer: _Peer) -> None:
        """Go on with the handshake; after it a peer has nothing to say, so that it is gone."""
        if peer.until is None or not isinstance(peer.socket, ssl.SSLSocket):
            self._drop(peer)
            return
        try:
            peer.socket.do_handshake()
        except ssl.SSLWantReadError:
            self._poll.modify(peer.socket, _GONE | select.EPOLLIN)
        except ssl.SSLWantWriteError:
            self._poll.modify(peer.socket, _GONE | select.EPOLLOUT)
        except OSError as error:
            _log.debug("presence handshake failed", error=str(error))
            self._drop(peer)
        else:
            peer.until = None
            self._greet(peer)

    def _greet(self, peer: _Peer) -> None:
        number = peer.socket.fileno()
        full = self.connections - (number in self._peers) >= MOST
        if not self._say(peer, self._hello + wire.GOODBYE if full else self._hello) or full:
            self._drop(peer)
        elif number in self._peers:
            self._poll.modify(number, _GONE)
        else:
            self._peers[number] = peer
            self._poll.register(number, _GONE)

    @staticmethod
    def _say(peer: _Peer, line: bytes) -> bool:
        try:
            return peer.socket.send(line) == len(line)
        except OSError:
            return False

    def _drop(self, peer: _Peer) -> None:
        number = peer.socket.fileno()
        if self._peers.pop(number, None) is not None:
            with contextlib.suppress(OSError):
                self._poll.unregister(number)
        peer.socket.close()

    def _part(self) -> None:
        with self._lock:
            if self._listener is not None:
                self._listener.close()
            for peer in list(self._peers.values()):
                if peer.until is None:
                    self._say(peer, wire.GOODBYE)
                self._drop(peer)
        self._parted.set()
