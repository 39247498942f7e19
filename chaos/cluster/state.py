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
    """

    name: str
    identity: str
    pid: int
    started: int
    http: str
    log: str
    trace: str
    restarts: int


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A whole cluster.

    Attributes:
        endpoints: The members', `host:port`.
    """

    prefix: str
    endpoints: tuple[str, ...]
    supervisor: Process
    etcd: tuple[MemberState, ...]
    replicas: tuple[ReplicaState, ...]

    def document(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "prefix": self.prefix,
            "endpoints": list(self.endpoints),
            "supervisor": {"pid": self.supervisor.pid, "started": self.supervisor.started},
            "etcd": [asdict(member) for member in self.etcd],
            "replicas": [asdict(replica) for replica in self.replicas],
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
        )

    def processes(self) -> tuple[Process, ...]:
        """The replicas, then the members: the order in which they may end."""
        replicas = (Process(replica.pid, replica.started) for replica in self.replicas)
        return (*replicas, *(Process(member.pid, member.started) for member in self.etcd))


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
