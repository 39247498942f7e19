"""How far a cluster has come up: asked of each replica and each `lockd` over HTTP."""

from __future__ import annotations

import http.client
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from chaos.cluster.state import ClusterState

TIMEOUT: Final = 1.0
"""Seconds that a replica may take to answer."""

SILENCE: Final = 0.2
"""Seconds in which docker ends a connection that it took for somebody who does not listen."""


@dataclass(frozen=True, slots=True)
class Health:
    """What the replicas say, and each `lockd`.

    Attributes:
        ready: How many are ready.
        processes: How many there are.
        leader: The name of the replica that leads, or "".
    """

    ready: int
    processes: int
    leader: str

    @property
    def parts(self) -> int:
        """How much of it is there, of `of`."""
        return self.ready + bool(self.leader)

    @property
    def of(self) -> int:
        return self.processes + 1

    @property
    def healthy(self) -> bool:
        return self.ready == self.processes and bool(self.leader)

    def __str__(self) -> str:
        return f"{self.ready} of {self.processes} ready, {self.leader or 'no leader'}"


def ask(state: ClusterState) -> Health:
    """Ask every replica of a cluster, and every `lockd`."""
    asked = [*(replica.http for replica in state.replicas), *(daemon.http for daemon in state.daemons)]
    ready = sum(status_of(http, "/readyz") == 200 for http in asked)
    leader = next((replica.name for replica in state.replicas if status_of(replica.http, "/leader") == 200), "")
    return Health(ready, len(asked), leader)


def is_dialled(address: str, *, timeout: float = TIMEOUT) -> bool:
    """Does somebody listen at `host:port`, or where a URL leads?"""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=timeout):
            return True
    except (OSError, ValueError):
        return False


def is_answered(address: str) -> bool:
    """Does somebody inside listen at `host:port`, or where a URL leads?

    A proxy of docker's own takes connections to published ports, whoever listens inside, and ends them when nobody
    does: that a port can be dialled shows nothing.
    """
    host, _, port = address.rpartition("/")[2].rpartition(":")
    try:
        dialled = socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT)
    except (OSError, ValueError):
        return False
    with dialled:
        dialled.settimeout(SILENCE)
        try:
            return dialled.recv(1) != b""
        except TimeoutError:
            return True  # who listens waits to be asked
        except OSError:
            return False


def status_of(url: str, path: str, *, timeout: float = TIMEOUT) -> int:
    """The status code of a GET, 0 when there is no answer, or nowhere to ask."""
    parts = urlsplit(url)
    if not parts.netloc:
        return 0
    connection = http.client.HTTPConnection(parts.netloc, timeout=timeout)
    if parts.scheme == "https":
        unchecked = ssl.create_default_context()
        unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE  # it is who we dial, by its address
        connection = http.client.HTTPSConnection(parts.netloc, timeout=timeout, context=unchecked)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
