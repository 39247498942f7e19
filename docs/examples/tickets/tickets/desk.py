"""The service over HTTP: `POST /tickets` takes a number, from whoever leads."""

from __future__ import annotations

import json
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar

from lockd.errors import Fenced, LockdError

if TYPE_CHECKING:
    from tickets.contender import Contender
    from tickets.counter import Counter


class Desk(BaseHTTPRequestHandler):
    """Answers one connection."""

    contender: ClassVar[Contender]
    counter: ClassVar[Counter]
    timeout = 30.0

    def do_GET(self) -> None:
        match self.path:
            case "/readyz":
                trouble = self.contender.trouble()
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE if trouble else HTTPStatus.OK, {"trouble": trouble})
            case "/leader":
                leads = self.contender.term is not None
                status = HTTPStatus.OK if leads else HTTPStatus.SERVICE_UNAVAILABLE
                self._answer(status, {"leader": self.contender.leader})
            case "/tickets":
                self._last()
            case _:
                self._answer(HTTPStatus.NOT_FOUND, {"error": "there is GET and POST /tickets"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/tickets":
            self._answer(HTTPStatus.NOT_FOUND, {"error": "there is GET and POST /tickets"})
            return
        term = self.contender.term
        if term is None:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": "stands by", "leader": self.contender.leader})
            return
        try:
            ticket = self.counter.take(term.guard, stop=term.lost)
        except Fenced:
            term.fenced()
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": "leads no more"})
        except LockdError as error:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)})
        else:
            self._answer(HTTPStatus.CREATED, {"number": ticket.number, "token": ticket.token})

    def _last(self) -> None:
        try:
            self._answer(HTTPStatus.OK, {"last": self.counter.last().number})
        except LockdError as error:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)})

    def _answer(self, status: HTTPStatus, document: dict[str, object]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Not a line for each request."""


def serve(host: str, port: int, contender: Contender, counter: Counter) -> ThreadingHTTPServer:
    """Serve from now on, on threads that end with the process.

    Raises:
        OSError: The port can't be had.
    """
    handler = type("Desk", (Desk,), {"contender": contender, "counter": counter})
    server = ThreadingHTTPServer((host, port), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    return server
