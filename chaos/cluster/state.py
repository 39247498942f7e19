"""`cluster.json`: what a cluster's folder tells about its processes."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from chaos.errors import NoCluster
from component.process import Process

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: Final = 1
FILE: Final = "cluster.json"


@dataclass(frozen=True, slots=True)
class MemberState:
    """One etcd member. `started` is from /proc, as everywhere here."""

    name: str
    endpoint: str
    pid: int
    started: int
    data_dir: str


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """One replica.

    Attributes:
        http: `http://host:port` of its endpoints.
        log: Path of its log, which all processes of this name share.
        trace: Path of this process's trace file.
        restarts: How often it was started again.
        presence: Where it listens for other replicas, `host:port`, in a cluster with links.
    """

    name: str
    identity: str
    pid: int
    started: int
    http: str
    log: str
    trace: str
    restarts: int
    presence: str = ""


@dataclass(frozen=True, slots=True)
class DaemonState:
    """One `lockd serve`.

    Attributes:
        address: `host:port` where it serves locks.
        http: `http://host:port` of its health checks and metrics.
    """

    name: str
    pid: int
    started: int
    address: str
    http: str
    log: str
    trace: str
    restarts: int


@dataclass(frozen=True, slots=True)
class LinkState:
    """One link.

    Attributes:
        endpoint: Where its source dials, `host:port`.
    """

    source: str
    destination: str
    endpoint: str


@dataclass(frozen=True, slots=True)
class LinksState:
    """The proxy of all links.

    Attributes:
        control: The name of the unix socket at which it is told what to do.
    """

    control: str
    pid: int
    started: int
    log: str
    links: tuple[LinkState, ...]


@dataclass(frozen=True, slots=True)
class EndState:
    """The end of one process of a replica or a `lockd`.

    Attributes:
        identity: A replica's holder identity; a `lockd`'s address.
        code: Its exit code; -N: a signal N ended it.
        at: When it was seen, on CLOCK_BOOTTIME.
    """

    name: str
    identity: str
    pid: int
    code: int
    at: float


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A whole cluster.

    Attributes:
        endpoints: The members', past all links.
        ends: Of processes, in order.
        control: The name of the unix socket at which the supervisor hears requests.
        links: None: everybody dials everybody.
    """

    prefix: str
    endpoints: tuple[str, ...]
    supervisor: Process
    etcd: tuple[MemberState, ...]
    replicas: tuple[ReplicaState, ...]
    daemons: tuple[DaemonState, ...] = ()
    links: LinksState | None = None
    control: str = ""
    ends: tuple[EndState, ...] = ()

    def document(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "prefix": self.prefix,
            "endpoints": list(self.endpoints),
            "supervisor": {"pid": self.supervisor.pid, "started": self.supervisor.started},
            "etcd": [asdict(member) for member in self.etcd],
            "replicas": [asdict(replica) for replica in self.replicas],
            "daemons": [asdict(daemon) for daemon in self.daemons],
            "links": asdict(self.links) if self.links is not None else None,
            "control": self.control,
            "ends": [asdict(end) for end in self.ends],
        }

    @classmethod
    def parse(cls, document: dict[str, Any]) -> ClusterState:
        """The state that a document tells.

        Raises:
            KeyError, TypeError: It isn't one.
        """
        return cls(
            prefix=document["prefix"],
            endpoints=tuple(document["endpoints"]),
            supervisor=Process(**document["supervisor"]),
            etcd=tuple(MemberState(**member) for member in document["etcd"]),
            replicas=tuple(ReplicaState(**replica) for replica in document["replicas"]),
            daemons=tuple(DaemonState(**daemon) for daemon in document["daemons"]),
            links=_links(document["links"]) if document["links"] is not None else None,
            control=document["control"],
            ends=tuple(EndState(**end) for end in document["ends"]),
        )

    def processes(self) -> tuple[Process, ...]:
        """Replicas and daemons, then the proxy and the members: the order in which they may end."""
        links = (self.links,) if self.links is not None else ()
        return tuple(Process(each.pid, each.started) for each in (*self.replicas, *self.daemons, *links, *self.etcd))


def _links(document: dict[str, Any]) -> LinksState:
    return LinksState(**{**document, "links": tuple(LinkState(**link) for link in document["links"])})


def write(folder: Path, state: ClusterState) -> None:
    """Replace the folder's cluster.json in one step: a reader sees the old one or the new one, whole.

    Raises:
        OSError: It can't be written; the old one stays.
    """
    draft = folder / f".{FILE}.{os.getpid()}"
    try:
        draft.write_text(json.dumps(state.document(), indent=2) + "\n", encoding="utf-8")
        draft.replace(folder / FILE)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def read(folder: Path) -> ClusterState:
    """The folder's cluster.

    Raises:
        NoCluster: There is none, or its file can't be understood.
    """
    path = folder / FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise NoCluster(f"{path}: schema {document['schema']!r} is not {SCHEMA}: use the chaosctl that made it")
        return ClusterState.parse(document)
    except FileNotFoundError as error:
        raise NoCluster(f"{folder}: no {FILE} here: name the folder that `chaosctl up` printed") from error
    except OSError as error:
        raise NoCluster(f"{path}: {error.strerror}: name a folder that `chaosctl up` made") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoCluster(f"{path}: not a cluster's description: name a folder that `chaosctl up` made") from error
