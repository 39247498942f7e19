"""Posts JSON to one server, within a bound that holds whatever the server does."""

from __future__ import annotations

import base64
import contextlib
import http.client
import os
import socket
import ssl
import tempfile
import threading
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from lockd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from component.clock import Clock
    from replica.extenders.config import ExtenderConfig, TLSConfig

LARGEST: Final = 64 << 20
"""Bytes of an answer at most: two thousand bytes for each of thirty thousand nodes."""


class Failed(Exception):
    """No answer, or none that counts: one line says why."""


class Transport:
    """One server. Calls may come from several threads; each has a connection of its own, kept from call to call.

    A call runs on a thread of its own, so that a server which answers a byte a second is given up in time, and so that
    `release` lets go of whoever waits.

    Raises:
        ConfigError: A certificate, key or CA can't be used.
    """

    def __init__(self, config: ExtenderConfig, clock: Clock) -> None:
        url = urlsplit(config.url_prefix)
        self._host, self._port, self._path = url.hostname or "", url.port, url.path.rstrip("/")
        self._timeout = float(config.http_timeout)
        self._clock = clock
        self._server_name = config.tls_config.server_name if config.tls_config is not None else ""
        self._tls = _context(config.url_prefix, config.tls_config) if url.scheme == "https" else None
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._calls: set[_Call] = set()

    def post(self, verb: str, body: bytes, headers: Mapping[str, str], *, once: bool = False) -> bytes:
        """The body of an answer with status 200.

        Args:
            once: It must not be sent twice, as what is asked for on a kept connection is that proves to be closed.

        Raises:
            Failed: There was none, or it came too late.
        """
        with self._lock:
            kept = self._idle.pop() if self._idle and not once else None
        call = self._made(kept or self._connection(), verb, body, headers)
        if kept is not None and call.stale:
            call = self._made(self._connection(), verb, body, headers)
        if call.answer is None:
            raise Failed(call.problem)
        with self._lock:
            self._idle.append(call.connection)
        return call.answer

    def release(self) -> None:
        """Let go of all who wait."""
        with self._lock:
            calls = tuple(self._calls)
        for call in calls:
            call.abandon("the term is over")

    def _made(
        self, connection: http.client.HTTPConnection, verb: str, body: bytes, headers: Mapping[str, str]
    ) -> _Call:
        late = f"no answer within {self._timeout:g} s"
        call = _Call(connection, late, (f"{self._path}/{verb}", body, dict(headers)))
        with self._lock:
            self._calls.add(call)
        threading.Thread(target=call.run, name=f"extender {self._host}", daemon=True).start()
        if not self._clock.wait(call.done, self._timeout):
            call.abandon(late)
        with self._lock:
            self._calls.discard(call)
        return call

    def _connection(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        return _Secure(self._host, self._port, timeout=self._timeout, context=self._tls, name=self._server_name)


class _Secure(http.client.HTTPSConnection):
    """HTTPS in which the server may be known by another name than the one it is found by."""

    def __init__(self, host: str, port: int | None, *, timeout: float, context: ssl.SSLContext, name: str) -> None:
        super().__init__(host, port, timeout=timeout, context=context)
        self._context_of_ours = context
        self._name = name or host

    def connect(self) -> None:
        """Connect, and verify that name."""
        http.client.HTTPConnection.connect(self)
        self.sock = self._context_of_ours.wrap_socket(self.sock, server_hostname=self._name)


class _Call:
    """One request on its way."""

    def __init__(
        self, connection: http.client.HTTPConnection, late: str, request: tuple[str, bytes, dict[str, str]]
    ) -> None:
        self.connection = connection
        self._late = late
        self._request = request
        self.done = threading.Event()
        self.answer: bytes | None = None
        self.problem = ""
        self.stale = False
        """The connection was closed before anything came back."""
        self._abandoned = False

    def run(self) -> None:
        path, body, headers = self._request
        try:
            self.connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
            response = self.connection.getresponse()
            found = response.read(LARGEST + 1)
            if response.status != http.client.OK:
                self._end(f"answered {response.status} {response.reason}")
            elif len(found) > LARGEST:
                self._end(f"answered more than {LARGEST} bytes")
            elif not self._abandoned:
                self.answer = found
        except TimeoutError:
            self._end(self._late)
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            # AttributeError: abandoned while it connected, so that its socket is gone.
            closed = isinstance(error, (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError))
            self.stale = closed and not self._abandoned
            self._end(str(error) or type(error).__name__)
        finally:
            if self.answer is None:
                self.connection.close()
            self.done.set()

    def abandon(self, why: str) -> None:
        """Nobody waits any longer."""
        self._abandoned = True
        self._end(why)
        sock = self.connection.sock
        if sock is not None:
            with contextlib.suppress(OSError):  # it has ended by itself
                sock.shutdown(socket.SHUT_RDWR)
        self.done.set()

    def _end(self, why: str) -> None:
        self.problem = self.problem or why


def _context(name: str, said: TLSConfig | None) -> ssl.SSLContext:
    """Verified by the given CA, else by the system's; not at all only if that is said."""
    context = ssl.create_default_context()
    if said is None:
        return context
    try:
        if said.ca_data:
            context = ssl.create_default_context(cadata=base64.b64decode(said.ca_data, validate=True).decode())
        elif said.ca_file:
            context = ssl.create_default_context(cafile=said.ca_file)
        if said.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if said.cert_data or said.cert_file:
            _load(context, said)
    except (OSError, ValueError) as error:
        raise ConfigError((f"extender {name}: tlsConfig can't be used: {error}",)) from error
    return context


def _load(context: ssl.SSLContext, said: TLSConfig) -> None:
    """Our own certificate. OpenSSL reads files only, so what is given as data is one for a moment."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, (data, path) in enumerate(((said.cert_data, said.cert_file), (said.key_data, said.key_file))):
            if data:
                path = os.path.join(folder, str(number))  # noqa: PLW2901, PTH118
                with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:  # noqa: PTH123
                    file.write(base64.b64decode(data, validate=True))
            paths.append(path)
        context.load_cert_chain(*paths)
