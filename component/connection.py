"""One client's connection: reads its requests and sends the answers."""

from __future__ import annotations

import http.client
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

from component import logs
from component.handlers import Request

if TYPE_CHECKING:
    import socket

    from component.handlers import Response

LONGEST_LINE: Final = 8 * 1024
"""Bytes of a request's first line."""

MOST_HEADERS: Final = 32 * 1024
"""Bytes of all that comes before a body."""

_log = logs.get(__name__)


class Server(Protocol):
    """What a connection asks of its server."""

    @property
    def closing(self) -> bool: ...

    def expect(self, connection: socket.socket) -> bool: ...

    def answer(self, connection: socket.socket, request: Request) -> Response: ...


class Connection(BaseHTTPRequestHandler):
    """Answers request after request until one of both ends it; all of it happens while it is made.

    Args:
        client: The address it comes from.
        certified: Who it is by its certificate, or "".
    """

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # with 0.9, a refusal would have no status line
    disable_nagle_algorithm = True
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = "text/plain; charset=utf-8"
    rfile: Any

    def __init__(self, connection: socket.socket, client: str, server: Server, *, certified: str = "") -> None:
        self._server = server
        self._certified = certified
        super().__init__(connection, (client, 0), server)  # type: ignore[arg-type]  # it only keeps the server

    def setup(self) -> None:
        super().setup()
        self.rfile = _Bounded(self.rfile)

    def handle_one_request(self) -> None:
        self.close_connection = True
        if not self._server.expect(self.connection):
            return
        self.rfile.begin()
        self.requestline = self.request_version = self.command = ""
        self.raw_requestline = self.rfile.readline(LONGEST_LINE + 1)
        if len(self.raw_requestline) > LONGEST_LINE:
            self.send_error(HTTPStatus.REQUEST_URI_TOO_LONG)
        elif self.raw_requestline and self.parse_request():
            self._respond()

    def handle_expect_100(self) -> bool:
        """Nobody wants a body: the answer comes at once."""
        return True

    def _respond(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(
            method=self.command,
            target=self.path,
            client=self.client_address[0],
            headers=headers,
            certified=self._certified,
        )
        response = self._server.answer(self.connection, request)
        unread = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers  # a body that nobody wants
        if self._server.closing or unread:
            self.close_connection = True
        head = [
            f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}",
            f"Date: {self.date_time_string()}",
            f"Content-Type: {response.content_type}",
            f"Content-Length: {len(response.body)}",
            "X-Content-Type-Options: nosniff",
            *(f"{name}: {value}" for name, value in response.headers),
            f"Connection: {'close' if self.close_connection else 'keep-alive'}",
        ]
        body = b"" if self.command == "HEAD" else response.body
        self._server.expect(self.connection)  # to take it, in no more than the usual time
        self.wfile.write("\r\n".join([*head, "", ""]).encode("latin-1", "replace") + body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature is the base class's
        _log.debug("http server", message=format % args, client=self.client_address[0])


class _Bounded:
    """Lines of a request, up to a number of bytes in all: each line may be short and their sum without end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = MOST_HEADERS

    def begin(self) -> None:
        """The next request comes."""
        self._left = MOST_HEADERS

    def readline(self, limit: int) -> bytes:
        line = self._file.readline(min(limit, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise http.client.LineTooLong("headers")
        return line

    def close(self) -> None:
        self._file.close()

    @property
    def closed(self) -> bool:
        return self._file.closed
