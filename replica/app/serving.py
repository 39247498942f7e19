"""How a replica serves HTTP: where, with which certificate, and whom it answers."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from component import handlers
from component.authentication import credentials, read_tokens
from component.authorization import known_users, path_problems
from component.listening import Tls
from component.watched import Watched
from lockd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from component.handlers import Authenticator, Authorizer

ALWAYS_ALLOWED: Final = ("/healthz", "/readyz", "/livez", "/leader")
"""What probes and load balancers ask, and they have no credentials."""

_TLS: Final = "give --tls-cert-file and --tls-private-key-file"

VERSIONS: Final = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The part of the configuration that is about HTTP.

    Attributes:
        port: 0 takes a free one.
        certificate: Certificate and key, in PEM; None: plain HTTP.
        min_version: As in the flag: `VersionTLS12` or `VersionTLS13`.
        client_ca: Authorities whose certificates name users.
        token_file: Names users by bearer token.
        always_allow: Paths that need no user.

    Raises:
        ConfigError: With every problem.
    """

    address: str = "127.0.0.1"
    port: int = 10259
    certificate: tuple[Path, Path] | None = None
    min_version: str = "VersionTLS12"
    client_ca: Path | None = None
    token_file: Path | None = None
    always_allow: tuple[str, ...] = ALWAYS_ALLOWED

    def __post_init__(self) -> None:
        rules = (
            (
                self.token_file is None or self.certificate is not None or self.on_loopback,
                f"--token-auth-file on {self.address} sends tokens in the clear: {_TLS}, or --bind-address 127.0.0.1",
            ),
            (
                self.client_ca is None or self.certificate is not None,
                f"--client-ca-file needs TLS: {_TLS}",
            ),
            (
                self.min_version in VERSIONS,
                f"--tls-min-version {self.min_version} is not served: use {' or '.join(VERSIONS)}",
            ),
        )
        problems = [text for holds, text in rules if not holds]
        problems += [f"--authorization-always-allow-paths: {text}" for text in path_problems(self.always_allow)]
        if problems:
            raise ConfigError(tuple(problems))

    @property
    def on_loopback(self) -> bool:
        """Can only this host connect? A name counts if it is `localhost`: any other may come to mean something else."""
        bare = self.address.removeprefix("[").removesuffix("]")
        try:
            return ipaddress.ip_address(bare).is_loopback
        except ValueError:
            return bare == "localhost"

    @property
    def asks(self) -> bool:
        """Is anybody asked who they are?"""
        return self.client_ca is not None or self.token_file is not None

    @property
    def exposed(self) -> bool:
        """Does it send what it says in the clear to whoever can reach it?"""
        return self.certificate is None and not self.on_loopback

    def tls(self) -> Tls | None:
        """What it proves itself with; None: plain HTTP."""
        if self.certificate is None:
            return None
        return Tls(*self.certificate, client_ca=self.client_ca, minimum=VERSIONS[self.min_version])

    def who(self, clock: Clock) -> tuple[Authenticator, Authorizer]:
        """What finds out who asks, and what decides whether they may.

        Raises:
            ValueError: The token file can't be used.
        """
        if not self.asks:
            return handlers.anyone, handlers.reading_only
        path, tokens = self.token_file, None
        if path is not None:
            watched = Watched([path], lambda: read_tokens(path), clock=clock)
            tokens = lambda: watched.value  # noqa: E731 - read again when the file changes
        return credentials(tokens), known_users(self.always_allow)

    @classmethod
    def of(
        cls,
        *,
        bind_address: str,
        secure_port: int,
        tls_cert_file: Path | None,
        tls_private_key_file: Path | None,
        tls_min_version: str,
        client_ca_file: Path | None,
        token_auth_file: Path | None,
        authorization_always_allow_paths: str,
    ) -> Serving:
        """What the flags of `SERVING_FLAGS` say.

        Raises:
            ConfigError: With every problem.
        """
        cert, key = tls_cert_file, tls_private_key_file
        if (cert is None) != (key is None):
            raise ConfigError(("--tls-cert-file and --tls-private-key-file go together: give both or none",))
        return cls(
            address=bind_address,
            port=secure_port,
            certificate=(cert, key) if cert is not None and key is not None else None,
            min_version=tls_min_version,
            client_ca=client_ca_file,
            token_file=token_auth_file,
            always_allow=tuple(part for part in map(str.strip, authorization_always_allow_paths.split(",")) if part),
        )


_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)

SERVING_FLAGS: Final[tuple[Callable[..., Any], ...]] = (
    click.option(
        "--bind-address", default="127.0.0.1", show_default=True, help="Where health and metrics are served."
    ),
    click.option(
        "--secure-port", type=click.IntRange(0, 65535), default=10259, show_default=True, help="0: any free port."
    ),
    click.option("--tls-cert-file", type=_FILE, default=None, help="Serve TLS with this certificate."),
    click.option("--tls-private-key-file", type=_FILE, default=None, help="Its key."),
    click.option(
        "--tls-min-version", default="VersionTLS12", show_default=True, metavar="VERSION",
        help="The oldest TLS spoken: VersionTLS12 or VersionTLS13.",
    ),
    click.option(
        "--client-ca-file", type=_FILE, default=None,
        help="Clients with a certificate of these authorities are known by its common name.",
    ),
    click.option(
        "--token-auth-file", type=_FILE, default=None,
        help="Clients with a bearer token of this file are known: lines of token,user,uid.",
    ),
    click.option(
        "--authorization-always-allow-paths", default=",".join(ALWAYS_ALLOWED), show_default=True, metavar="PATH,...",
        help="What unknown clients may ask where there is a client CA or a token file; a * at the end is a wildcard.",
    ),
)  # fmt: skip
"""The flags of `replica run` that are about HTTP; they mirror kube-scheduler's, but for the token file."""
