"""TLS: credentials out of files, and what is wrong when a member doesn't let us in."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Final

import grpc

from lockd.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from lockd.etcd.connection import Connection

_ALERT_WAIT: Final = 0.5
"""Seconds in which a member that refuses our certificate says so after the handshake, as TLS 1.3 has it."""

_HTTP2_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"


def credentials(connection: Connection) -> grpc.ChannelCredentials:
    """gRPC's credentials out of the connection's files, which are checked with the standard library first.

    Raises:
        ConfigError: Names each file that can't be used, and why.
    """
    files = {"cacert": connection.cacert, "cert": connection.cert, "key": connection.key}
    read: dict[str, bytes | None] = dict.fromkeys(files)
    problems = []
    for name, path in files.items():
        try:
            read[name] = path.read_bytes() if path is not None else None
        except OSError as error:
            problems.append(f"{name} {path} can't be read: {error.strerror or error}")
    if not problems:
        problems = [
            text
            for text in (_authority_problem(connection.cacert), _certificate_problem(connection.cert, connection.key))
            if text
        ]
    if problems:
        raise ConfigError(tuple(problems))
    return grpc.ssl_channel_credentials(read["cacert"], read["key"], read["cert"])


def diagnose(connection: Connection, endpoint: str, *, timeout: float) -> str | None:
    """Try to reach a member without gRPC, which doesn't tell why it was not let in.

    Returns:
        What a person must put right, in one line; None when nothing is wrong with TLS, or the member is not there.
    """
    host, _, port = endpoint.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout) as plain:
            return (
                _secure_problem(connection, endpoint, plain) if connection.secure else _plain_problem(endpoint, plain)
            )
    except OSError:
        return None


def _secure_problem(connection: Connection, endpoint: str, plain: socket.socket) -> str | None:
    context = ssl.create_default_context(cafile=connection.cacert)
    context.set_alpn_protocols(["h2"])
    if connection.cert is not None:
        context.load_cert_chain(connection.cert, connection.key)
    name = connection.name_of(endpoint) or endpoint.rpartition(":")[0].strip("[]")
    try:
        with context.wrap_socket(plain, server_hostname=name) as secured:
            secured.settimeout(_ALERT_WAIT)
            secured.recv(1)
    except ssl.SSLCertVerificationError as error:
        authority = f"cacert {connection.cacert}" if connection.cacert else "the system's authorities"
        return f"the certificate of {endpoint} is not accepted by {authority}: {error.verify_message}"
    except ssl.SSLError as error:
        reason = (error.reason or str(error)).lower().replace("_", " ")
        if "alert" in reason:
            ours = f"our cert {connection.cert}" if connection.cert else "a client without a certificate: give --cert"
            return f"{endpoint} refuses {ours} ({reason})"
    except OSError:  # silence or a reset: nothing that TLS has said
        pass
    return f"{endpoint} speaks no TLS: drop https:// and the certificate flags" if _speaks_plainly(endpoint) else None


def _speaks_plainly(endpoint: str) -> bool:
    """Does it answer HTTP/2 without TLS?"""
    host, _, port = endpoint.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _ALERT_WAIT) as plain:
            plain.sendall(_HTTP2_PREFACE)
            return plain.recv(9)[3:4] == b"\x04"  # the type of a SETTINGS frame
    except OSError:
        return False


def _plain_problem(endpoint: str, plain: socket.socket) -> str | None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # only asked whether it speaks TLS at all
    try:
        with context.wrap_socket(plain):
            pass
    except ssl.SSLError as error:
        if "ALERT" not in (error.reason or ""):
            return None
    except OSError:
        return None
    return f"{endpoint} speaks TLS: write https://{endpoint} or give --cacert"


def _authority_problem(path: Path | None) -> str | None:
    try:
        if path is not None:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except (ssl.SSLError, OSError, ValueError) as error:
        return f"cacert {path} holds no usable PEM certificate: {_reason(error)}"
    return None


def _certificate_problem(cert: Path | None, key: Path | None) -> str | None:
    try:
        if cert is not None:
            # An empty password instead of a question on the terminal.
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(cert, key, password=lambda: "")
    except (ssl.SSLError, OSError, ValueError) as error:
        return f"cert {cert} with key {key} can't be used: {_reason(error)}"
    return None


def _reason(error: Exception) -> str:
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
