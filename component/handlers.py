"""What answers an HTTP request, and the chain of filters around it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

from component import logs

if TYPE_CHECKING:
    from component.clock import Clock

ANONYMOUS = "system:anonymous"
"""The user that a request without credentials has."""

READING = ("GET", "HEAD")
"""Methods that change nothing."""

_log = logs.get(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request; what the filters find out is added as it passes them.

    Attributes:
        target: The path and query as they were sent.
        client: The address it came from.
        headers: By name in lower case; of several alike the last.
        certified: The common name in the client's certificate, which the listener has verified, or "".
        path: Set by `with_info`, decoded.
        query: Set by `with_info`: all values of each parameter, which may be empty strings.
        user: Set by `authenticated`.
    """

    method: str
    target: str
    client: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    certified: str = ""
    path: str = ""
    query: Mapping[str, list[str]] = field(default_factory=dict)
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What is sent back."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


Handler = Callable[[Request], Response]
Filter = Callable[[Handler], Handler]
Authenticator = Callable[[Request], str | Response]
"""Gives the user, or the refusal to send back."""
Authorizer = Callable[[Request], Response | None]
"""Gives the refusal to send back, or None when the user may."""


def text(body: str, *, status: int = 200) -> Response:
    """A response in plain text."""
    return Response(status=status, body=body.encode())


def as_json(value: object, *, status: int = 200) -> Response:
    """A response in JSON, indented for people."""
    body = json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"
    return Response(status=status, body=body, content_type="application/json")


def chain(handler: Handler, *filters: Filter) -> Handler:
    """`handler` within the filters, the first of them outermost."""
    for wrap in reversed(filters):
        handler = wrap(handler)
    return handler


def recovered(inner: Handler) -> Handler:
    """A handler that raises costs its own request only."""

    def handle(request: Request) -> Response:
        try:
            return inner(request)
        except Exception as error:  # noqa: BLE001 - one request must not end the server
            _log.exception("http handler failed", error, method=request.method, target=request.target)
            return text("internal server error: see the log\n", status=500)

    return handle


def logged(clock: Clock) -> Filter:
    """Each request is a log event at DEBUG."""

    def around(inner: Handler) -> Handler:
        def handle(request: Request) -> Response:
            begin = clock.now()
            response = inner(request)
            _log.debug(
                "http request",
                method=request.method,
                target=request.target,
                status=response.status,
                seconds=clock.now() - begin,
                client=request.client,
            )
            return response

        return handle

    return around


def uncached(inner: Handler) -> Handler:
    """Nobody on the way keeps an answer: it is out of date at once."""

    def handle(request: Request) -> Response:
        response = inner(request)
        return replace(response, headers=(*response.headers, ("Cache-Control", "no-cache, private")))

    return handle


def with_info(inner: Handler) -> Handler:
    """Path and query are taken apart."""

    def handle(request: Request) -> Response:
        try:
            parts = urlsplit(request.target)
            query = parse_qs(parts.query, keep_blank_values=True, max_num_fields=100)
        except ValueError:
            return text("400 bad request\n", status=400)
        return inner(replace(request, path=unquote(parts.path), query=query))

    return handle


def authenticated(authenticate: Authenticator) -> Filter:
    """The request gets its user, or is refused."""

    def around(inner: Handler) -> Handler:
        def handle(request: Request) -> Response:
            found = authenticate(request)
            return found if isinstance(found, Response) else inner(replace(request, user=found))

        return handle

    return around


def authorized(authorize: Authorizer) -> Filter:
    """The request is refused if its user may not do that."""

    def around(inner: Handler) -> Handler:
        def handle(request: Request) -> Response:
            refusal = authorize(request)
            return inner(request) if refusal is None else refusal

        return handle

    return around


def anyone(_request: Request) -> str:
    """Nobody is asked who they are."""
    return ANONYMOUS


def reading_only(request: Request) -> Response | None:
    """Everyone may read, nobody may do anything else."""
    if request.method in READING:
        return None
    return replace(text("405 method not allowed\n", status=405), headers=(("Allow", ", ".join(READING)),))


def not_found(_request: Request) -> Response:
    """There is nothing at that path."""
    return text("404 page not found\n", status=404)
