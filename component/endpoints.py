"""An HTTP server for probes, metrics and what a component has to tell about itself.

It is small on purpose: reading only, a bounded number of connections, and no client, however slow, holds one for long.
"""

from __future__ import annotations

import itertools
import math
import socket
import ssl
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from component import handlers, logs
from component.clock import SystemClock
from component.handlers import Request, Response, chain
from component.health import KINDS, Check, Health
from component.listening import listen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from component.clock import Clock
    from component.lifecycle import Group
    from component.listening import Tls

TICK = 0.25
"""Seconds between two looks at the stop event and for overdue connections."""

BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

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
        connections: How many there may be at once; more are turned away with 503.
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
        self._lock = threading.Lock()
        self._due: dict[socket.socket, float | None] = {}

    def start(self) -> int:
        """Begin to serve; returns the port.

        Raises:
            CannotListen: As when the port is in use.
            ValueError: The certificate or key can't be used.
        """
        context = self._tls.context() if self._tls else None
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
            return handler(request)
        kind, _, _ = request.path.removeprefix("/").partition("/")
        return self._health.get(f"/{kind}", handlers.not_found)(request)

    def _accept(self, listener: socket.socket, context: ssl.SSLContext | None) -> None:
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
                self._admit(connection, str(client[0]), context, next(numbers))
        self._cut(math.inf)

    def _admit(self, connection: socket.socket, client: str, context: ssl.SSLContext | None, number: int) -> None:
        with self._lock:
            full = len(self._due) >= self._limit
        if full:
            _log.debug("too many connections", limit=self._limit, client=client)
            self._turn_away(connection, plain=context is None)
            return
        connection.settimeout(self._timeout)
        try:
            if context is not None:
                connection = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
            self.expect(connection)
            self._group.spawn(f"http-{number}", self._serve, connection, client)
        except (OSError, RuntimeError) as error:  # it went away, or the system has no thread to give
            _log.warning("connection could not be served", client=client, error=error)
            self._forget(connection)

    def _turn_away(self, connection: socket.socket, *, plain: bool) -> None:
        with connection:
            connection.setblocking(False)
            if plain:
                _quietly(connection.send, BUSY)

    def _serve(self, connection: socket.socket, client: str) -> None:
        try:
            if isinstance(connection, ssl.SSLSocket):
                connection.do_handshake()
            _Connection(connection, client, self)
        except OSError as error:  # it went away, or doesn't speak TLS
            _log.debug("connection ended early", client=client, error=error)
        except Exception as error:  # noqa: BLE001 - no client may end the component
            _log.exception("connection failed", error, client=client)
        finally:
            self._forget(connection)

    def _forget(self, connection: socket.socket) -> None:
        with self._lock:
            self._due.pop(connection, None)
        _quietly(connection.close)

    def expect(self, connection: socket.socket) -> bool:
        """The connection has the usual time to bring its next request; False when there is to be none."""
        with self._lock:
            self._due[connection] = self._clock.now() + self._timeout
        return not self.closing  # asked last: what is entered before the closing is cut by it

    def answer(self, connection: socket.socket, request: Request) -> Response:
        """What to send back; the time that takes is ours and doesn't count against the connection."""
        with self._lock:
            self._due[connection] = None
        return self._answer(request)

    def _cut(self, now: float) -> None:
        """Cut connections that were expected to bring something by now: a drip of bytes would outlast any timeout."""
        with self._lock:
            overdue = [connection for connection, due in self._due.items() if due is not None and due <= now]
        for connection in overdue:
            # SSLSocket's own shutdown pulls the ground from under the thread that reads
            _quietly(socket.socket.shutdown, connection, socket.SHUT_RDWR)


class _Connection(BaseHTTPRequestHandler):
    """Reads requests off one connection and sends what the server answers."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # with 0.9, a refusal would have no status line
    disable_nagle_algorithm = True
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = "text/plain; charset=utf-8"

    def __init__(self, connection: socket.socket, client: str, endpoints: Endpoints) -> None:
        self._endpoints = endpoints
        super().__init__(connection, (client, 0), endpoints)  # type: ignore[arg-type]  # it only keeps the server

    def handle_one_request(self) -> None:
        if self._endpoints.expect(self.connection):
            super().handle_one_request()
        else:
            self.close_connection = True

    def __getattr__(self, name: str) -> Any:
        """All methods are answered alike; which are allowed is for the chain to say."""
        if name.startswith("do_"):
            return self._respond
        raise AttributeError(name)

    def _respond(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(method=self.command, target=self.path, client=self.client_address[0], headers=headers)
        response = self._endpoints.answer(self.connection, request)
        unread = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers  # a body that nobody wants
        if self._endpoints.closing or unread:
            self.close_connection = True
        keep = "close" if self.close_connection else "keep-alive"
        head = [
            f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}",
            f"Date: {self.date_time_string()}",
            f"Content-Type: {response.content_type}",
            f"Content-Length: {len(response.body)}",
            "X-Content-Type-Options: nosniff",
            *(f"{name}: {value}" for name, value in response.headers),
            f"Connection: {keep}",
        ]
        body = b"" if self.command == "HEAD" else response.body
        self.wfile.write("\r\n".join([*head, "", ""]).encode("latin-1", "replace") + body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature is the base class's
        _log.debug("http server", message=format % args, client=self.client_address[0])


def _quietly(call: Callable[..., object], *args: object) -> None:
    try:
        call(*args)
    except OSError:  # the other side is gone already
        return
