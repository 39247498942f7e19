"""What clusters under test are made of: each backend brings one up and takes it down."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chaos.cluster import launch
from chaos.cluster.local import LocalCluster
from chaos.cluster.sweeping import swept
from chaos.faults.equipment import equipped
from lockd.errors import ConfigError, LockdError
from lockd.etcd.binary import find_etcd
from lockd.etcd.connection import Connection
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from chaos.cluster.interface import Cluster
    from chaos.pytest.settings import Shape
    from component.clock import Clock

    Backend = Callable[[Shape, Path, threading.Event, Clock], AbstractContextManager["Raised"]]
    """Given the folder for all that is kept of it, and what gives up at once."""


class Missing(LockdError):
    """What a cluster is made of can't be had on this machine; one line that says what, and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """A cluster that is up, and healthy.

    Attributes:
        connection: To etcd's members, past all links.
        folder: Has its `log` and `trace`.
    """

    cluster: Cluster
    connection: Connection
    gateway: Gateway
    folder: Path


@contextlib.contextmanager
def local(shape: Shape, folder: Path, stop: threading.Event, clock: Clock) -> Iterator[Raised]:
    """A cluster of processes on this host. They end with the block, and with this process, however that ends.

    Raises:
        Missing: There is no etcd to run.
        NotAvailable: Something that the shape needs can't be had.
        NotStarted, TooSlow, Interrupted, OSError: It did not come up.
    """
    if not sys.platform.startswith("linux"):
        raise Missing(f"clusters of processes need Linux (CLOCK_BOOTTIME), and this is {sys.platform}")
    try:
        find_etcd()
    except ConfigError as error:
        raise Missing(str(error)) from error
    folder.mkdir(parents=True, exist_ok=True)
    plan = equipped(shape.plan(folder), shape.needs)
    with contextlib.ExitStack() as undo:
        undo.enter_context(swept(plan.etcd_folder))
        supervisor = launch.launch(plan, leashed=True)
        undo.callback(supervisor.end, clock=clock)
        state = launch.await_health(plan, supervisor, stop, progress=lambda _: None, clock=clock)
        connection = Connection(endpoints=state.endpoints)
        gateway = Gateway(connection, purpose="chaos", witness=Witness(), clock=clock)
        undo.callback(gateway.close)
        cluster = LocalCluster(folder, gateway, lock=shape.lock, clock=clock)
        yield Raised(cluster=cluster, connection=connection, gateway=gateway, folder=folder)


BACKENDS: Mapping[str, Backend] = {"local": local}
