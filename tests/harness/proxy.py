"""A TCP proxy in front of an etcd member, which can do what networks do. It knows nothing of HTTP/2."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Self

from component.lifecycle import Group

if TYPE_CHECKING:
    from types import TracebackType

    from lockd.etcd.connection import Connection
    from lockd.etcd.embedded import Embedded

_CHUNK = 65536


class Way(Enum):
    """A direction of traffic."""

    TO_SERVER = "to server"
    TO_CLIENT = "to client"


@dataclass(eq=False)
class _Pair:
    """One connection: the client's socket and the server's."""

    client: socket.socket
    server: socket.socket
    deaf: bool = False
    """What the server says is lost."""
    sent: bytes = b""
    """The end of what the client has sent."""

    def reset(self) -> None:
        """Close both with RST."""
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@dataclass
class Swallow:
    """Replies of the connection on which `marker` is seen are lost from that moment on.

    Attributes:
        passed: Set when the request with the marker was handed to the server.
        times: How many more requests with the marker are treated so.
    """

    marker: bytes
    times: int = 1
    passed: threading.Event = field(default_factory=threading.Event)


class Proxy:
    """Listens on a loopback port and passes on to `target`; `heal` undoes every fault. A context manager."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._group = Group("proxy")
        self._changed = threading.Condition()
        self._pairs: set[_Pair] = set()
        self._held: set[Way] = set()
        self._latency = 0.0
        self._resets = 0
        self._swallow: Swallow | None = None
        self._connections = 0
        self._listener: socket.socket | None = None
        self._port = 0
        self._listen()

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def connections(self) -> int:
        """Connections accepted so far."""
        return self._connections

    def refuse(self) -> None:
        """Refuse new connections and reset the present ones, as a host without the program does."""
        with self._changed:
            listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.reset()

    def reset(self) -> None:
        """Reset the present connections."""
        with self._changed:
            pairs, self._pairs = self._pairs, set()
            self._changed.notify_all()
        for pair in pairs:
            pair.reset()

    def fail_connections(self, number: int) -> None:
        """Reset so many of the next connections at once."""
        with self._changed:
            self._resets = number

    def black_hole(self, *ways: Way) -> None:
        """Pass nothing on in these directions (both by default), without a word; it arrives after `heal`."""
        with self._changed:
            self._held = set(ways or Way)

    def delay(self, seconds: float) -> None:
        """Hold everything up for so long, each way."""
        with self._changed:
            self._latency = seconds

    def swallow(self, marker: bytes, *, times: int = 1) -> Swallow:
        """Lose the reply to the next request that holds these bytes, and all that follows on its connection."""
        with self._changed:
            self._swallow = Swallow(marker, times)
            return self._swallow

    def heal(self) -> None:
        """Undo every fault. Connections that lost something are reset."""
        with self._changed:
            self._held, self._latency, self._resets, self._swallow = set(), 0.0, 0, None
            damaged = {pair for pair in self._pairs if pair.deaf}
            self._pairs -= damaged
            self._changed.notify_all()
        for pair in damaged:
            pair.reset()
        if self._listener is None:
            self._listen()

    def close(self) -> None:
        """End it."""
        self._group.request_stop()
        self.refuse()
        self._group.join(2.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _listen(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        listener.listen(64)
        self._port = listener.getsockname()[1]
        self._listener = listener
        self._group.spawn("accept", self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.socket()
            pair = _Pair(client, server)
            with self._changed:
                self._connections += 1
                doomed = self._resets > 0
                self._resets -= doomed
            try:
                if not doomed:
                    server.connect(self._target)
            except OSError:
                doomed = True
            if doomed:
                pair.reset()
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                refused = self._listener is not listener  # meanwhile: it must not slip through
                if not refused:
                    self._pairs.add(pair)
            if refused:
                pair.reset()
                continue
            self._group.spawn("up", self._pump, pair, Way.TO_SERVER)
            self._group.spawn("down", self._pump, pair, Way.TO_CLIENT)

    def _pump(self, pair: _Pair, way: Way) -> None:
        source, sink = (pair.client, pair.server) if way is Way.TO_SERVER else (pair.server, pair.client)
        try:
            while data := source.recv(_CHUNK):
                if not self._clear(pair, way):
                    return
                swallow = self._marked(pair, data) if way is Way.TO_SERVER else None
                if way is Way.TO_CLIENT and pair.deaf:
                    continue
                sink.sendall(data)
                if swallow is not None:
                    swallow.passed.set()
            if self._clear(pair, way):
                sink.shutdown(socket.SHUT_WR)
        except OSError:
            self._clear(pair, way)  # a black hole swallows this too
            with self._changed:
                self._pairs.discard(pair)
            pair.reset()

    def _clear(self, pair: _Pair, way: Way) -> bool:
        """Wait until this way is open; False when the connection is over."""
        with self._changed:
            latency = self._latency
            while way in self._held and pair in self._pairs and not self._group.stop.is_set():
                self._changed.wait(1.0)
        if latency:
            self._group.stop.wait(latency)
        return pair in self._pairs

    def _marked(self, pair: _Pair, data: bytes) -> Swallow | None:
        with self._changed:
            swallow = self._swallow
            if swallow is None or pair.deaf or not swallow.times:
                return None
            found = swallow.marker in pair.sent + data
            pair.sent = (pair.sent + data)[-len(swallow.marker) :]
            if not found:
                return None
            pair.deaf = True
            swallow.times -= 1
            return swallow


class Proxies:
    """A proxy in front of each member of a cluster. A context manager."""

    def __init__(self, cluster: Embedded) -> None:
        self._cluster = cluster
        self.each = tuple(Proxy(member.endpoint) for member in cluster.members)

    @property
    def connection(self) -> Connection:
        """The cluster as seen through them, members in the same order."""
        return replace(self._cluster.connection, endpoints=tuple(proxy.endpoint for proxy in self.each))

    def heal(self) -> None:
        """Undo every fault."""
        for proxy in self.each:
            proxy.heal()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for proxy in self.each:
            proxy.close()
