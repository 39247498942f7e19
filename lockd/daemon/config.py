"""What `lockd serve` was asked for: it can't exist invalid, and reports every problem at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lockd.daemon.listening import Address, Security, default_socket
from lockd.errors import ConfigError

if TYPE_CHECKING:
    from lockd.etcd.connection import Connection

MOST_STREAMS: Final = 4096
"""Each holds two threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeConfig:
    """How the lock service is served.

    Attributes:
        listen: Where; at least one address.
        insecure_listen: Serve TCP beyond loopback without mutual TLS, too.
        max_streams: Campaigns, observers and the like at once.
        max_streams_per_peer: Of one client.
        http: `HOST:PORT` for health checks and metrics over HTTP; "" for none.

    Raises:
        ConfigError: With every problem.
    """

    connection: Connection
    prefix: str
    listen: tuple[Address, ...] = field(default_factory=lambda: (Address(default_socket()),))
    security: Security = field(default_factory=Security)
    insecure_listen: bool = False
    max_streams: int = 512
    max_streams_per_peer: int = 256
    http: str = ""

    def __post_init__(self) -> None:
        security = self.security
        problems = [problem for address in self.listen for problem in address.problems()]
        rules = [
            (bool(self.listen), "--listen: give at least one address"),
            (
                (security.cert is None) == (security.key is None),
                "--tls-cert-file and --tls-private-key-file belong together: give both or neither",
            ),
            (
                security.client_ca is None or security.cert is not None,
                "--client-ca-file asks clients for certificates, which needs TLS: give --tls-cert-file too",
            ),
            (
                1 <= self.max_streams <= MOST_STREAMS,
                f"--max-streams must be from 1 to {MOST_STREAMS}, not {self.max_streams}",
            ),
            (
                self.max_streams_per_peer >= 1,
                f"--max-streams-per-peer must be above 0, not {self.max_streams_per_peer}",
            ),
        ]
        if self.http:
            address = Address(self.http)
            usable = address.path is None and not address.problems()
            rules.append((usable, f"--http-listen {self.http[:60]!r}: give HOST:PORT"))
        if not security.mutual and not self.insecure_listen:
            rules += [
                (
                    address.is_local,
                    (
                        f"--listen {address.text}: whoever reaches it could take any lock: give --tls-cert-file, "
                        "--tls-private-key-file and --client-ca-file, or --insecure-listen if that is meant"
                    ),
                )
                for address in self.listen
                if not address.problems()
            ]
        problems += [text for holds, text in rules if not holds]
        if problems:
            raise ConfigError(tuple(problems))
