"""What `docker inspect` says of a container, as far as a fault must know it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Self

from chaos.cluster.interface import Membership

if TYPE_CHECKING:
    from collections.abc import Mapping

ROLE: Final = "lockd.role"
"""The label that says what may be done to a container: replica, etcd or lockd."""

PORT: Final = "lockd.port"
"""The label that says at which port it is asked, where that is not the usual one."""

SERVES: Final = "lockd.serves"
"""The label by which a replica says `https`."""

PROJECT: Final = "com.docker.compose.project"
SERVICE: Final = "com.docker.compose.service"
FILES: Final = "com.docker.compose.project.config_files"
FOLDER: Final = "com.docker.compose.project.working_dir"
NUMBER: Final = "com.docker.compose.container-number"
ONE_OFF: Final = "com.docker.compose.oneoff"

HOST_NETWORK: Final = "host"
LOOPBACK: Final = "127.0.0.1"

_STAMP: Final = re.compile(r"^(?P<second>[^.Z+]+)(?:\.(?P<fraction>\d{1,9})\d*)?(?P<zone>Z|[+-]\d\d:\d\d)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container at one moment.

    Attributes:
        name: Without docker's slash.
        hostname: That its processes see.
        pid: Of its first process, where the engine runs; 0: none runs.
        started: When it began to run last, in nanoseconds since 1970; 0: never.
        running, paused: `paused` ones run.
        exit_code: Of its last end.
        ports: The ports of this host by which its own can be reached: `host:port` by port.
        command: Its words, those of the image included.
        environment: The variables that it was started with.
        restarts: Will the engine start it again when it ends?
        tries: How often it has.
    """

    id: str
    name: str
    labels: Mapping[str, str]
    hostname: str = ""
    image: str = ""
    pid: int = 0
    started: int = 0
    running: bool = False
    paused: bool = False
    exit_code: int = 0
    ports: Mapping[int, str]
    networks: tuple[Membership, ...] = ()
    command: tuple[str, ...] = ()
    environment: Mapping[str, str]
    restarts: bool = False
    tries: int = 0

    @property
    def role(self) -> str:
        return self.labels.get(ROLE, "")

    @property
    def project(self) -> str:
        return self.labels.get(PROJECT, "")

    @property
    def service(self) -> str:
        return self.labels.get(SERVICE, "")

    @property
    def number(self) -> int:
        """Among those of its service, from 1."""
        written = self.labels.get(NUMBER, "1")
        return int(written) if written.isdecimal() else 1

    @property
    def is_one_off(self) -> bool:
        """Was it made by `compose run`? Then it is somebody's own."""
        return self.labels.get(ONE_OFF, "").lower() == "true"

    def dialled(self, usual: int) -> str:
        """`host:port` by which it is reached from here: a published port, else its own address; "": it isn't.

        One that shares the network of its host is reached there.

        Args:
            usual: The port inside where its label names no other.
        """
        written = self.labels.get(PORT, "")
        port = int(written) if written.isdecimal() else usual
        if port in self.ports:
            return self.ports[port]
        if any(each.network == HOST_NETWORK for each in self.networks):
            return f"{LOOPBACK}:{port}"
        address = next((each.address for each in self.networks if each.address), "")
        return f"{address}:{port}" if address else ""

    def url(self, usual: int) -> str:
        """The same as a URL, `https` where its label says so; "": it isn't reached."""
        dialled = self.dialled(usual)
        return f"{self.labels.get(SERVES, 'http')}://{dialled}" if dialled else ""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """The container that a document of `docker inspect` tells of.

        Raises:
            KeyError, TypeError, ValueError: It tells of none.
        """
        state, config = document["State"], document["Config"]
        settings, host = document["NetworkSettings"], document.get("HostConfig") or {}
        # The engine calls a container running while it waits before the next start.
        running = bool(state["Running"]) and not state.get("Restarting", False)
        return cls(
            id=document["Id"],
            name=str(document["Name"]).removeprefix("/"),
            labels=dict(config.get("Labels") or {}),
            hostname=config.get("Hostname") or "",
            image=config.get("Image") or "",
            pid=int(state.get("Pid") or 0) if running else 0,
            started=nanoseconds(state["StartedAt"]),
            running=running,
            paused=running and bool(state.get("Paused", False)),
            exit_code=int(state.get("ExitCode") or 0),
            # of one that has ended those that it will have again
            ports=_ports({**(host.get("PortBindings") or {}), **(settings.get("Ports") or {})}),
            networks=tuple(
                Membership(name, tuple(_aliases(each, document["Id"])), each.get("IPAddress") or "", _fixed(each))
                for name, each in sorted((settings.get("Networks") or {}).items())
            ),
            command=(*(config.get("Entrypoint") or ()), *(config.get("Cmd") or ())),
            environment=dict(entry.partition("=")[::2] for entry in config.get("Env") or ()),
            tries=int(document.get("RestartCount") or 0),
            restarts=host.get("RestartPolicy", {}).get("Name", "no") in ("always", "unless-stopped", "on-failure"),
        )


def nanoseconds(stamp: str) -> int:
    """Since 1970, of a stamp of the engine, which has up to nine digits after its seconds; 0 of its `never`.

    Raises:
        ValueError: It is none.
    """
    found = _STAMP.match(stamp)
    if found is None:
        raise ValueError(f"{stamp!r} is no stamp of Docker's")
    zone = "+00:00" if found["zone"] == "Z" else found["zone"]
    seconds = int(datetime.fromisoformat(found["second"] + zone).timestamp())
    return max(0, seconds * 10**9 + int((found["fraction"] or "0").ljust(9, "0")))


def _ports(document: Mapping[str, Any]) -> dict[int, str]:
    ports = {}
    for written, bound in document.items():
        port, _, protocol = written.partition("/")
        known = [each for each in bound or () if each.get("HostPort") not in (None, "", "0")]
        if known and protocol == "tcp":
            # a port that the engine chose need not be the same for both kinds of address
            first = next((each for each in known if ":" not in (each.get("HostIp") or "")), known[0])
            ports[int(port)] = f"{_host(first.get('HostIp') or LOOPBACK)}:{first['HostPort']}"
    return ports


def _host(address: str) -> str:
    """Of a URL: where a port that is bound to an address is dialled from this host."""
    if address in ("0.0.0.0", "::"):
        return LOOPBACK
    return f"[{address}]" if ":" in address else address


def _fixed(network: Mapping[str, Any]) -> tuple[str, ...]:
    """What the owner of a container wanted its addresses to be."""
    given = network.get("IPAMConfig") or {}
    return tuple(filter(None, (given.get("IPv4Address"), given.get("IPv6Address"))))


def _aliases(network: Mapping[str, Any], container: str) -> list[str]:
    """Those that somebody gave it: the engine adds its short id by itself."""
    return [alias for alias in network.get("Aliases") or () if not container.startswith(alias)]
