"""Where a server listens and what it proves itself with."""

from __future__ import annotations

import errno
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BACKLOG = 128
"""Connections that wait to be accepted."""


class CannotListen(OSError):
    """A server can't be started where it was asked to; its text is one line with the remedy.

    Attributes:
        address: As it was given.
        port: As it was given.
    """

    def __init__(self, error: OSError, address: str, port: int) -> None:
        super().__init__(error.errno, error.strerror)
        self.address = address
        self.port = port

    def __str__(self) -> str:
        remedies = {
            errno.EADDRINUSE: "the port is in use: end what uses it, or choose another port",
            errno.EACCES: "a port below 1024 needs privileges: choose another port",
            errno.EADDRNOTAVAIL: "no interface of this host has that address: choose another address",
        }
        remedy = remedies.get(self.errno or 0, f"{self.strerror or 'unknown error'}: choose another address")
        return f"cannot listen on {self.address}:{self.port}: {remedy}"


@dataclass(frozen=True, slots=True)
class Tls:
    """What a server proves itself with: files in PEM.

    Attributes:
        client_ca: Authorities of clients' certificates: one of another authority ends the handshake, none does not.
            Without it, clients are asked for none.
        minimum: The oldest version spoken.
    """

    cert: Path
    key: Path
    client_ca: Path | None = None
    minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.cert, self.key, *([self.client_ca] if self.client_ca else []))

    def context(self) -> ssl.SSLContext:
        """Settings for connections.

        Raises:
            ValueError: The files can't be used; one line that names them.
        """
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = self.minimum
        try:
            context.load_cert_chain(self.cert, self.key, password=lambda: "")  # else a locked key asks at the terminal
        except ssl.SSLError as error:
            reason = "they are not a certificate and its key in PEM, without a passphrase"
            raise ValueError(f"cannot use certificate {self.cert} with key {self.key}: {reason}") from error
        except OSError as error:
            reason = error.strerror or "unreadable"
            raise ValueError(f"cannot use certificate {self.cert} with key {self.key}: {reason}") from error
        if self.client_ca is not None:
            context.verify_mode = ssl.CERT_OPTIONAL  # who has none is anonymous
            _trust(context, self.client_ca)
        return context


def common_name(connection: ssl.SSLSocket) -> str:
    """Of the client's certificate, which was verified in the handshake; "" without one."""
    certificate: Mapping[str, Any] = connection.getpeercert() or {}
    names = [value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"]
    return str(names[-1]) if names else ""


def _trust(context: ssl.SSLContext, authorities: Path) -> None:
    try:
        context.load_verify_locations(cafile=authorities)
    except ssl.SSLError as error:
        raise ValueError(f"cannot use client CA {authorities}: it holds no certificate in PEM") from error
    except OSError as error:
        raise ValueError(f"cannot use client CA {authorities}: {error.strerror or 'unreadable'}") from error


def listen(address: str, port: int) -> socket.socket:
    """A socket that listens at an address or a host's name, IPv6 too; port 0 takes a free one.

    Raises:
        CannotListen: As when the port is in use.
    """
    bare = address.removeprefix("[").removesuffix("]")
    try:
        family, _, _, _, where = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server((str(where[0]), int(where[1])), family=family, backlog=BACKLOG)
    except OSError as error:
        raise CannotListen(error, address, port) from error
