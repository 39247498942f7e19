"""Where etcd is and how to be let in: checked when made, with every problem at once."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lockd.config import is_text
from lockd.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_ENDPOINTS: Final = ("127.0.0.1:2379",)

_NO_PART: Final = r"\s:/\[\]@,?#\ud800-\udfff"
"""What neither host nor port has: surrogates stand for bytes that are no UTF-8, which gRPC does not take."""

_ENDPOINT: Final = re.compile(rf"(?P<host>\[[0-9A-Fa-f:.%\w]+\]|[^{_NO_PART}]+):(?P<port>\d{{1,5}})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How to reach an etcd cluster.

    Attributes:
        endpoints: One `host:port` for each member. `https://` (for TLS) or `http://` may precede it and is taken off.
        names: What each member's certificate must be for, in the same order, or one name for all; none: the endpoint's
            host. For members that are dialled at addresses of which their certificates know nothing.
        secure: Use TLS. It follows from `https://` and from any of the three files.
        cacert: PEM file of the authorities that etcd's certificate is checked against; the system's otherwise.
        cert: PEM file of the client certificate; it needs `key`.
        user: etcd user name; it needs `password`.
        command_timeout: Seconds after which a command gives up.

    Raises:
        ConfigError: With every problem.
    """

    endpoints: tuple[str, ...] = DEFAULT_ENDPOINTS
    names: tuple[str, ...] = ()
    secure: bool = False
    cacert: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    command_timeout: float = 5.0

    def __post_init__(self) -> None:
        files = {name for name in ("cacert", "cert", "key") if getattr(self, name) is not None}
        given = [endpoint.strip() for endpoint in self.endpoints]
        schemes = {endpoint.partition("://")[0] for endpoint in given if "://" in endpoint}
        bare = tuple(endpoint.rpartition("://")[2].removesuffix("/") for endpoint in given)
        rules = (
            (bool(self.endpoints), "no endpoint is given: name at least one host:port"),
            (len(set(bare)) == len(bare), "an endpoint is named twice"),
            (len(self.names) in (0, 1, len(bare)), "give one TLS server name, or one for each endpoint"),
            (schemes <= {"http", "https"}, f"endpoints begin with http:// or https://, not {_list(schemes)}://"),
            (schemes != {"http", "https"}, "endpoints with http:// and with https:// can't be mixed"),
            (
                not (schemes == {"http"} and files),
                f"http:// endpoints don't use TLS: drop {_list(files)} or say https://",
            ),
            (("cert" in files) == ("key" in files), "a client certificate needs both cert and key"),
            (self.user is None or self.password is not None, f"user {self.user!r} needs a password"),
            (self.user != "", "the user name is empty"),
            (is_text(self.user or ""), f"user {self.user!r} is not UTF-8: write it as UTF-8"),
            (is_text(self.password or ""), "the password is not UTF-8: write it as UTF-8"),
            (all(map(is_text, self.names)), "a TLS server name is not UTF-8: write it as UTF-8"),
            (self.password is None or self.user is not None, "a password needs a user"),
            (0 < self.command_timeout < math.inf, "command timeout must be above 0 s"),
        )
        problems = [text for holds, text in rules if not holds]
        problems += filter(None, map(endpoint_problem, bare))
        if problems:
            raise ConfigError(tuple(problems))
        object.__setattr__(self, "endpoints", bare)
        object.__setattr__(self, "secure", self.secure or bool(files) or schemes == {"https"})

    @property
    def urls(self) -> tuple[str, ...]:
        """The endpoints in the form that says whether they take TLS."""
        return tuple(f"{'https' if self.secure else 'http'}://{endpoint}" for endpoint in self.endpoints)

    def name_of(self, endpoint: str) -> str | None:
        """What the certificate of the member at one of the endpoints must be for; None: the endpoint's host."""
        names = self.names * len(self.endpoints) if len(self.names) == 1 else self.names
        return dict(zip(self.endpoints, names, strict=False)).get(endpoint)


def listed(text: str) -> tuple[str, ...]:
    """Endpoints, or names of them, as they are written in one word: with commas between."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def endpoint_problem(endpoint: str) -> str | None:
    """What is wrong with a `host:port`, in one line, or None."""
    match = _ENDPOINT.fullmatch(endpoint)
    if match and 0 < int(match["port"]) < 65536:
        return None
    if match:
        return f"endpoint {endpoint[:80]!r} has a port above 65535 or of 0"
    if endpoint and not re.search(f"[{_NO_PART}]", endpoint):
        return f"endpoint {endpoint[:80]!r} has no port: write {endpoint[:80]}:2379"
    return f"endpoint {endpoint[:80]!r} is not host:port, such as 127.0.0.1:2379"


def _list(words: set[str]) -> str:
    return ", ".join(sorted(words))
