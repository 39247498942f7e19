"""An HTTP server for probes, metrics and what a component has to tell about itself.

It is small on purpose: reading only, a bounded number of connections, and no client, however slow, holds one for long.
"""

from __future__ import annotations

import itertools
import math
import operator
import socket
import ssl
import threading
from typing import TYPE_CHECKING, Final

from component import handlers, logs
from component.clock import SystemClock
from component.connection import Connection
from component.handlers import Request, Response, chain
from component.health import KINDS, Check, Health
from component.listening import common_name, listen
from component.watched import Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from component.clock import Clock
    from component.lifecycle import Group
    from component.listening import Tls

TICK = 0.25
"""Seconds between two looks at the stop event and for overdue connections."""

IDLE: Final = 1.0
"""Seconds after which a connection that brings nothing makes room for a new one when there are as many as may be."""

LINGER: Final = 1.0
"""Seconds for a client to stop sending what nobody reads: a close before that could cost it the answer."""

AT_ONCE: Final = 4
"""Pages made at the same time, health aside: each that is made takes turns with the threads of the election."""

BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

LARGE: Final = 65536
"""Bytes of what nobody wants, read at a time."""

_log = logs.get(__name__)


class Endpoints:
    """The server. `/healthz`, `/livez` and `/readyz` are there; `/metrics` and more are given.

    Args:
        address: An address or a host's name, IPv6 too.
        port: 0 takes a free one.
        group: Its threads end when this group is asked to stop.
        checks: What the three health paths look at, besides `ping`.
        metrics: Gives `/metrics` in Prometheus' text format.
        routes: More paths, each with its handler.
        tls: Plain HTTP without it.
        authenticate: Finds out who asks.
        authorize: Decides whether they may.
        timeout: Seconds that a request may take to arrive, that an idle connection is kept, and that an answer may
            take to be sent.
        connections: How many there may be at once, three quarters of them from one address. One more takes the place of
            whichever has brought nothing for the longest time; if all are busy it is turned away with 503.
    """

    def __init__(
        self,
        address: str,
        port: int,
        *,
        group: Group,
        checks: Iterable[Check] = (),
        metrics: Callable[[], bytes] | None = None,
        routes: Mapping[str, handlers.Handler] | None = None,
        tls: Tls | None = None,
        authenticate: handlers.Authenticator = handlers.anyone,
        authorize: handlers.Authorizer = handlers.reading_only,
        clock: Clock | None = None,
        timeout: float = 10.0,
        connections: int = 64,
    ) -> None:
        self._address = address
        self._port = port
        self._group = group
        self._tls = tls
        self._clock = clock or SystemClock()
        self._timeout = timeout
        self._limit = connections
        self._routes: dict[str, handlers.Handler] = dict(routes or {})
        if metrics is not None:
            self._routes["/metrics"] = lambda _: Response(body=metrics(), content_type=METRICS_TYPE)
        kept = tuple(checks)
        self._health = {f"/{kind}": Health(kind, kept) for kind in KINDS}
        self._answer = chain(
            self._route,
            handlers.recovered,
            handlers.logged(self._clock),
            handlers.uncached,
            handlers.with_info,
            handlers.authenticated(authenticate),
            handlers.authorized(authorize),
        )
        self._closed = threading.Event()
        self._listener: socket.socket | None = None
        self._pages = threading.BoundedSemaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._due: dict[socket.socket, float | None] = {}
        self._clients: dict[socket.socket, str] = {}

    def start(self) -> int:
        """Begin to serve; returns the port.

        Raises:
            CannotListen: As when the port is in use.
            ValueError: The certificate or key can't be used.
        """
        tls = self._tls
        context = Watched(tls.files, tls.context, clock=self._clock) if tls else None
        listener = listen(self._address, self._port)
        self._port = int(listener.getsockname()[1])
        self._listener = listener
        self._group.spawn("http", self._accept, listener, context)
        _log.info("http server started", address=self._address, port=self._port, tls=context is not None)
        return self._port

    def close(self) -> None:
        """Take no more connections, and end those that are idle; doesn't wait."""
        self._closed.set()
        if self._listener is not None:
            _quietly(self._listener.shutdown, socket.SHUT_RDWR)  # wakes who waits for the next connection

    @property
    def closing(self) -> bool:
        """Are connections to end after the answer they get now?"""
        return self._closed.is_set() or self._group.stop.is_set()

    def _route(self, request: Request) -> Response:
        if handler := self._routes.get(request.path):
            with self._pages:
                return handler(request)
        kind, _, _ = request.path.removeprefix("/").partition("/")
        return self._health.get(f"/{kind}", handlers.not_found)(request)

    def _accept(self, listener: socket.socket, context: Watched[ssl.SSLContext] | None) -> None:
        numbers, failing = itertools.count(1), False
        with listener:
            listener.settimeout(TICK)
            while not self.closing:
                self._cut(self._clock.now())
                try:
                    connection, client = listener.accept()
                except TimeoutError:
                    continue
                except OSError as error:  # out of descriptors, or a client that is gone already, or it was closed
                    if self.closing:
                        break
                    if not failing:
                        _log.warning("connections cannot be accepted", error=error)
                    failing = True
                    self._clock.wait(self._group.stop, TICK)
                    continue
                failing = False
                self._admit(connection, str(client[0]), context.value if context else None, next(numbers))
        self._cut(math.inf)

    def _admit(self, connection: socket.socket, client: str, context: ssl.SSLContext | None, number: int) -> None:
        if not self._has_room(client):
            _log.debug("too many connections", limit=self._limit, client=client)
            self._turn_away(connection, plain=context is None)
            return
        connection.settimeout(self._timeout)
        try:
            if context is not None:
                connection = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
            with self._lock:
                self._due[connection] = self._clock.now() + self._timeout
                self._clients[connection] = client
            self._group.spawn(f"http-{number}", self._serve, connection, client)
        except (OSError, RuntimeError) as error:  # it went away, or the system has no thread to give
            _log.warning("connection could not be served", client=client, error=error)
            self._forget(connection)

    def _has_room(self, client: str) -> bool:
        """Is there room for one more connection of this client?

        Neither one that dawdles nor one that never rests may keep another's probe from being answered.
        """
        with self._lock:
            own = [each for each, address in self._clients.items() if address == client]
            full = len(own) >= self._limit - self._limit // 4
            if len(self._due) < self._limit and not full:
                return True
            waiting = [(due, each) for each in (own if full else self._due) if (due := self._due.get(each)) is not None]
            due, longest = min(waiting, key=operator.itemgetter(0), default=(math.inf, None))
            if longest is None or due - self._timeout + IDLE > self._clock.now():
                return False
            self._drop(longest)
        _shut(longest)
        return True

    def _turn_away(self, connection: socket.socket, *, plain: bool) -> None:
        with connection:
            connection.setblocking(False)
            if plain:
                _quietly(connection.send, BUSY)

    def _serve(self, connection: socket.socket, client: str) -> None:
        try:
            if isinstance(connection, ssl.SSLSocket):
                connection.do_handshake()
                Connection(connection, client, self, certified=common_name(connection))
            else:
                Connection(connection, client, self)
                self._part(connection)
        except OSError as error:  # it went away, or doesn't speak TLS
            _log.debug("connection ended early", client=client, error=error)
        except Exception as error:  # noqa: BLE001 - no client may end the component
            _log.exception("connection failed", error, client=client)
        finally:
            self._forget(connection)

    def _drop(self, connection: socket.socket) -> None:
        """Under the lock."""
        self._due.pop(connection, None)
        self._clients.pop(connection, None)

    def _forget(self, connection: socket.socket) -> None:
        with self._lock:
            self._drop(connection)
        _quietly(connection.close)

    def _part(self, connection: socket.socket) -> None:
        """Say that nothing more comes, and let the client stop sending."""
        if self.expect(connection, LINGER):
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(LARGE):
                pass

    def _enter(self, connection: socket.socket, due: float | None) -> bool:
        """Note what is expected of a connection; False when it was given up meanwhile."""
        with self._lock:
            if connection not in self._due:
                return False
            self._due[connection] = due
            return True

    def expect(self, connection: socket.socket, seconds: float | None = None) -> bool:
        """The connection has the usual time to bring its next request; False when there is to be none."""
        due = self._clock.now() + (self._timeout if seconds is None else seconds)
        return self._enter(connection, due) and not self.closing  # asked last: a closing cuts what was entered before

    def answer(self, connection: socket.socket, request: Request) -> Response:
        """What to send back; the time that takes is ours and doesn't count against the connection."""
        self._enter(connection, None)
        return self._answer(request)

    def _cut(self, now: float) -> None:
        """Cut connections that were expected to bring something by now: a drip of bytes would outlast any timeout."""
        with self._lock:
            overdue = [connection for connection, due in self._due.items() if due is not None and due <= now]
        for connection in overdue:
            _shut(connection)


def _shut(connection: socket.socket) -> None:
    """Wake and end the thread that serves it."""
    # SSLSocket's own shutdown pulls the ground from under the thread that reads
    _quietly(socket.socket.shutdown, connection, socket.SHUT_RDWR)


def _quietly(call: Callable[..., object], *args: object) -> None:
    try:
        call(*args)
    except OSError:  # the other side is gone already
        return
