"""What presence is set up from."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from component.listening import Tls
from lockd.errors import ConfigError
from lockd.presence import address

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class PresenceTls:
    """Mutual TLS among replicas. Who has a certificate of this authority is a replica: host names are not compared."""

    cert: Path
    key: Path
    ca: Path

    def server(self) -> ssl.SSLContext:
        """Settings for those who dial.

        Raises:
            ValueError: The files can't be used; one line that names them.
        """
        context = Tls(self.cert, self.key).context()
        context.num_tickets = 0
        return self._mutual(context)

    def client(self) -> ssl.SSLContext:
        """Settings for dialling.

        Raises:
            ValueError: The files can't be used; one line that names them.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = False
        context.load_cert_chain(self.cert, self.key, password=lambda: "")
        return self._mutual(context)

    def _mutual(self, context: ssl.SSLContext) -> ssl.SSLContext:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(self.ca)
        except (ssl.SSLError, OSError) as error:
            raise ValueError(f"cannot use authority {self.ca}: it is no certificate in PEM") from error
        return context


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenceConfig:
    """Where a replica listens for standbys, and how they know each other.

    Attributes:
        bind: `host:port`; port 0 takes a free one.
        advertise: What the others dial; "" for the bound address. Port 0 stands for the bound one.
        tls: None for plain TCP.

    Raises:
        ConfigError: With every problem.
    """

    bind: str = "127.0.0.1:0"
    advertise: str = ""
    tls: PresenceTls | None = None

    def __post_init__(self) -> None:
        problems = []
        for flag, value in (("--presence-bind", self.bind), ("--presence-advertise", self.advertise)):
            try:
                host, _ = address.parse(value) if value or flag == "--presence-bind" else ("", 0)
            except ValueError as error:
                problems.append(f"{flag}: {error}")
                continue
            if flag == "--presence-bind" and address.is_wildcard(host) and not self.advertise:
                problems.append(
                    f"--presence-bind={value} is every interface: say by --presence-advertise which to dial"
                )
            if flag == "--presence-advertise" and value and address.is_wildcard(host):
                problems.append(f"--presence-advertise={value} is every interface: nobody can dial it, name one")
        if self.tls is not None:
            try:
                self.tls.server()
                self.tls.client()
            except ValueError as error:
                problems.append(str(error))
        if problems:
            raise ConfigError(tuple(problems))

    @classmethod
    def of(cls, bind: str, advertise: str, cert: Path | None, key: Path | None, ca: Path | None) -> PresenceConfig:
        """From the flags.

        Raises:
            ConfigError: With every problem.
        """
        files = (cert, key, ca)
        if cert is not None and key is not None and ca is not None:
            return cls(bind=bind, advertise=advertise, tls=PresenceTls(cert, key, ca))
        problems: tuple[str, ...] = ()
        if any(files):
            problems = ("--presence-cert-file, -key-file and -ca-file go together: give all three or none",)
        try:
            plain = cls(bind=bind, advertise=advertise)
        except ConfigError as error:
            problems = (*error.problems, *problems)
        if problems:
            raise ConfigError(problems)
        return plain
