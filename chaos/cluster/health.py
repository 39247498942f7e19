"""How far a cluster has come up: asked of each replica over HTTP."""

from __future__ import annotations

import http.client
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from chaos.cluster.state import ClusterState

TIMEOUT: Final = 1.0
"""Seconds that a replica may take to answer."""


@dataclass(frozen=True, slots=True)
class Health:
    """What the replicas say.

    Attributes:
        ready: How many are ready.
        replicas: How many there are.
        leader: The name of the one that leads, or "".
    """

    ready: int
    replicas: int
    leader: str

    @property
    def parts(self) -> int:
        """How much of it is there, of `of`."""
        return self.ready + bool(self.leader)

    @property
    def of(self) -> int:
        return self.replicas + 1

    @property
    def healthy(self) -> bool:
        return self.ready == self.replicas and bool(self.leader)

    def __str__(self) -> str:
        return f"{self.ready} of {self.replicas} replicas ready, {self.leader or 'no leader'}"


def ask(state: ClusterState) -> Health:
    """Ask every replica of a cluster."""
    ready = sum(status_of(replica.http, "/readyz") == 200 for replica in state.replicas)
    leader = next((replica.name for replica in state.replicas if status_of(replica.http, "/leader") == 200), "")
    return Health(ready, len(state.replicas), leader)


def status_of(url: str, path: str, *, timeout: float = TIMEOUT) -> int:
    """The status code of a GET, 0 when there is no answer."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
