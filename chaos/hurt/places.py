"""Where a one-off fault is applied: a cluster of a folder, or a compose project."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaos.backend.adopted import entered
from chaos.cluster import state as files
from chaos.cluster.local import LocalCluster
from chaos.compose.access import PUBLISHED, Access
from chaos.compose.engine import DockerEngine
from chaos.compose.finding import find
from chaos.errors import NoCluster
from chaos.faults.place import Place
from chaos.faults.remedies import LocalRemedies
from lockd.etcd.connection import Connection
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from lockd.ports import LockName

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from component.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """How a person names it: exactly one of the first three.

    Attributes:
        folder: That `chaosctl up` printed.
        project: Of compose.
        file: Of compose; its containers say which project it is.
        lock: `<namespace>/<name>` of the lock that the replicas contend for.
        etcd: How a project's etcd is reached.
        prefix: Of all keys of a project; "": as its replicas were told. A folder tells its own.
    """

    folder: Path | None = None
    project: str = ""
    file: Path | None = None
    lock: str = "kube-system/kube-scheduler"
    etcd: Access = PUBLISHED
    prefix: str = ""

    @contextlib.contextmanager
    def opened(self, clock: Clock) -> Iterator[Place]:
        """Go there.

        Raises:
            NoCluster: There is no such cluster.
            EngineError: The Docker engine can't be asked.
        """
        with contextlib.ExitStack() as undo:
            yield self._local(undo, clock) if self.folder is not None else self._docked(undo, clock)

    def _local(self, undo: contextlib.ExitStack, clock: Clock) -> Place:
        folder = self.folder
        if folder is None:
            raise NoCluster("no cluster is named: give --dir, --project or --compose-file")
        state = files.read(folder)
        gateway = self._gateway(Connection(endpoints=state.endpoints), undo, clock)
        return Place(
            cluster=LocalCluster(folder, gateway, lock=self.lock, clock=clock),
            gateway=gateway,
            lock=LockName(state.prefix, *self._names),
            remedies=LocalRemedies(folder),
            folder=folder,
        )

    def _docked(self, undo: contextlib.ExitStack, clock: Clock) -> Place:
        found = find(DockerEngine(), project=self.project, file=self.file)
        gateway = self._gateway(self.etcd.to(found), undo, clock)
        lock = LockName(self.prefix or found.prefix, *self._names)
        return undo.enter_context(entered(found, gateway, lock, folder=None, clock=clock))

    @property
    def _names(self) -> tuple[str, str]:
        namespace, _, name = self.lock.partition("/")
        return namespace, name

    @staticmethod
    def _gateway(connection: Connection, undo: contextlib.ExitStack, clock: Clock) -> Gateway:
        gateway = Gateway(connection, purpose="chaos", witness=Witness(), clock=clock)
        undo.callback(gateway.close)
        return gateway
