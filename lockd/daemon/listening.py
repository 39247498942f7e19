"""Where the service listens, and what it proves itself with there."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grpc

from component.listening import CannotListen, Tls
from lockd.config import is_text
from lockd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

UNIX: Final = "unix:"
LONGEST_PATH: Final = 107
"""Bytes that the address of a unix socket has room for."""

OWNER_ONLY: Final = 0o177
"""What a umask takes away from a unix socket: it is left with mode 0600."""


def default_socket() -> str:
    """Where `lockd serve` listens unless it is told: in the user's own run-time folder, else in /run."""
    return f"{UNIX}{os.environ.get('XDG_RUNTIME_DIR') or '/run'}/lockd.sock"


@dataclass(frozen=True, slots=True)
class Address:
    """`unix:PATH` or `HOST:PORT`."""

    text: str

    @property
    def path(self) -> Path | None:
        """Of a unix socket."""
        return Path(self.text.removeprefix(UNIX)) if self.text.startswith(UNIX) else None

    @property
    def host(self) -> str:
        return self.text.rpartition(":")[0].removeprefix("[").removesuffix("]")

    @property
    def port(self) -> str:
        return self.text.rpartition(":")[2]

    @property
    def is_local(self) -> bool:
        """Can nobody on another host reach it?"""
        if self.path is not None or self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def problems(self) -> tuple[str, ...]:
        """What keeps it from being an address, each as one line."""
        path = self.path
        if not is_text(self.text):
            return (f"--listen {self.text[:60]!r}: an address must be UTF-8: choose another",)
        if path is not None:
            rules = (
                (path.is_absolute(), f"--listen {self.text}: the socket's path must begin with a slash"),
                (
                    len(os.fsencode(path)) <= LONGEST_PATH,
                    f"--listen {self.text[:60]}...: a socket's path has at most {LONGEST_PATH} bytes",
                ),
                (path.parent.is_dir(), f"--listen {self.text}: there is no folder {path.parent}: make it first"),
            )
            return tuple(text for holds, text in rules if not holds)
        if not self.host or not self.port.isdecimal() or int(self.port) > 65535:
            return (f"--listen {self.text[:60]!r}: give unix:/PATH or HOST:PORT",)
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """Files in PEM: the server's certificate and its key, and the authorities that clients' certificates must be of."""

    cert: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None

    @property
    def mutual(self) -> bool:
        return self.cert is not None and self.client_ca is not None

    def credentials(self) -> grpc.ServerCredentials | None:
        """None without a certificate.

        Raises:
            ConfigError: A file can't be used; names it.
        """
        if self.cert is None or self.key is None:
            return None
        try:
            context = Tls(self.cert, self.key).context()
            if self.client_ca is not None:
                context.load_verify_locations(self.client_ca)
        except (ssl.SSLError, OSError) as error:
            reason = "no certificate in PEM is in it" if isinstance(error, ssl.SSLError) else error.strerror
            raise ConfigError((f"cannot use authorities {self.client_ca}: {reason}",)) from error
        except ValueError as error:
            raise ConfigError((str(error),)) from error
        pair = (self.key.read_bytes(), self.cert.read_bytes())
        if self.client_ca is None:
            return grpc.ssl_server_credentials([pair])
        return grpc.ssl_server_credentials([pair], self.client_ca.read_bytes(), require_client_auth=True)


def bind(server: grpc.Server, address: Address, credentials: grpc.ServerCredentials | None) -> str:
    """Have the server listen; the address in full, where port 0 asked for a free one.

    A unix socket is for its owner alone, and carries no TLS. One that nobody listens on any more is replaced.

    Raises:
        CannotListen: As when it is in use.
    """
    path = address.path
    if path is not None:
        _clear(path, address)
        with _umask(OWNER_ONLY):
            _add(server, address, None)
        return address.text
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{host}:{_add(server, address, credentials)}"


def _add(server: grpc.Server, address: Address, credentials: grpc.ServerCredentials | None) -> int:
    try:
        if credentials is not None:
            port = server.add_secure_port(address.text, credentials)
        else:
            port = server.add_insecure_port(address.text)
    except RuntimeError:
        port = 0
    if not port:
        raise _reason(address)
    return port


def _reason(address: Address) -> CannotListen | ConfigError:
    """gRPC tells none: the system does, asked for the same."""
    if address.path is not None:
        return ConfigError((f"--listen {address.text}: no socket can be made there: look at the folder's permissions",))
    try:
        found = socket.getaddrinfo(address.host, int(address.port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, where = found[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind(where)
    except OSError as error:
        return CannotListen(error, address.host, int(address.port))
    return CannotListen(OSError(errno.EADDRINUSE, "in use"), address.host, int(address.port))


def _clear(path: Path, address: Address) -> None:
    """Take a dead socket away; a live one, or a file of another kind, is somebody else's."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(mode):
        raise ConfigError((f"--listen {address.text}: there is a file that is no socket: remove it or choose another",))
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            with suppress(FileNotFoundError):
                path.unlink()
            return
        except OSError as error:
            raise ConfigError((f"--listen {address.text}: {error.strerror}",)) from error
    raise ConfigError((f"--listen {address.text}: another process listens there: end it or choose another",))


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
