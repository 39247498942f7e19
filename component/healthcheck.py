"""Asking a server of ours how it is, without curl: light enough to be started by a container's health check."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

import click

from component.console import FAILED, leave, say
from component.durations import DURATION
from component.options import with_options

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST: Final = 16384
"""Bytes of an answer that are read."""


class UnwellError(Exception):
    """It did not answer, or not with 200: one line that says what it said."""


def ask(address: str, port: int, path: str, *, tls: bool, timeout: float) -> str:
    """What a server says on a page, if it says 200.

    Args:
        tls: It serves TLS. Its certificate is not checked: this is for asking one's own host.
        timeout: Seconds for each of connecting, sending and receiving.

    Raises:
        UnwellError: It says something else, or nothing.
    """
    host = address.removeprefix("[").removesuffix("]")
    where = f"{f'[{host}]' if ':' in host else host}:{port}"
    url = f"{'https' if tls else 'http'}://{where}{path}"
    try:
        answer = _exchange(host, port, f"GET {path} HTTP/1.0\r\nHost: {where}\r\n\r\n", tls=tls, timeout=timeout)
    except (OSError, ValueError) as error:
        raise UnwellError(f"{url} does not answer: {error}") from error
    head, _, text = answer.partition("\r\n\r\n")
    status = head.partition("\r\n")[0].split(" ", 2)
    if len(status) < 2 or not status[0].startswith("HTTP/"):
        raise UnwellError(f"{url} does not answer in HTTP: {head[:80]!r}")
    if status[1] != "200":
        raise UnwellError(f"{url} answered {status[1]}: {text.strip()}")
    return text.strip()


def _exchange(host: str, port: int, request: str, *, tls: bool, timeout: float) -> str:
    """Send a request; what comes back until the other end closes, or until it is enough.

    A library for this takes longer to load than all else here.

    Raises:
        OSError, ValueError: Nobody is there, or there is no such host.
    """
    with socket.create_connection((host, port), timeout=timeout) as plain:
        if tls:
            import ssl  # noqa: PLC0415 - where it is asked for alone

            context = ssl._create_unverified_context()  # noqa: S323, SLF001 - asks its own host only
            connection: socket.socket = context.wrap_socket(plain)
        else:
            connection = plain
        with connection:
            connection.sendall(request.encode())
            answer = b""
            while len(answer) < _LONGEST and (more := connection.recv(_LONGEST)):
                answer += more
    return answer[:_LONGEST].decode(errors="replace")


def healthcheck_command(flag: str, port: int, *, asks: str) -> click.Command:
    """The command `healthcheck` of a server.

    Args:
        flag: The option for its port, with that port as its default.
        asks: Whom it asks, for the help.
    """

    def run(*, address: str, port: int, path: str, tls: bool, timeout: float) -> None:
        try:
            say(ask(address, port, path, tls=tls, timeout=timeout))
        except UnwellError as error:
            leave((str(error),), FAILED)

    run.__doc__ = f"Ask {asks} how it is, without curl: exit code 0 when it answers 200, else 1."
    options: tuple[Callable[[Callable[..., None]], Callable[..., None]], ...] = (
        click.option("--address", default="127.0.0.1", show_default=True, help="Where it serves."),
        click.option(flag, "port", type=click.IntRange(1, 65535), default=port, show_default=True, help="Its port."),
        click.option("--path", default="/readyz", show_default=True, help="What to ask: /livez, /readyz ..."),
        click.option("--tls", is_flag=True, help="It serves TLS; its certificate is not checked."),
        click.option("--timeout", type=DURATION, default="2s", show_default=True, help="When to give up."),
    )
    return click.command("healthcheck")(with_options(run, options))
