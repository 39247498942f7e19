"""What a cluster is to be: how many of what, and what its processes are given."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lockd.etcd.loopback import free_ports

if TYPE_CHECKING:
    from collections.abc import Mapping

FAST: Final = (
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
)
"""Timing for demos and tests; the defaults are 15 s, 10 s, 2 s."""

HOST: Final = "127.0.0.1"
FOREIGN: Final = ("ETCDCTL_", "LOCKD_")
"""The environment of whoever starts a cluster may name another one: variables that begin so are not passed on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A cluster to be made.

    Attributes:
        folder: Where everything of it lies.
        members: etcd members, 1 or 3.
        restart: Is a replica, or a `lockd`, that ended started again?
        flags: Further flags of `replica run`; they come last, so they win.
        daemons: Processes of `lockd serve`.
        proxied: Do replicas and `lockd` reach etcd, and each other, through links that can be hurt?
        program: Words that start a replica: what follows them is `run` and its flags.
        environment: Further variables of a replica's environment, by its name.
        service: Words that start another program in place of a replica: see `chaos.cluster.service`. Empty: replicas.
        lock: `<namespace>/<name>` of the lock that services contend for.
        timing: Lease duration, renew deadline and retry period, in seconds, for services.
    """

    folder: Path
    prefix: str = "/lockd"
    members: int = 3
    replicas: int = 3
    restart: bool = True
    flags: tuple[str, ...] = ()
    daemons: int = 0
    proxied: bool = False
    program: tuple[str, ...] = (sys.executable, "-m", "replica")
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    service: tuple[str, ...] = ()
    lock: str = "kube-system/kube-scheduler"
    timing: tuple[float, float, float] = (15.0, 10.0, 2.0)

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "folder": str(self.folder)}

    @classmethod
    def parse(cls, document: dict[str, Any]) -> Plan:
        """The plan that a document tells.

        Raises:
            KeyError, TypeError: It isn't one.
        """
        lists = {name: tuple(document[name]) for name in ("flags", "program", "service", "timing")}
        return cls(**{**document, **lists, "folder": Path(document["folder"])})

    @property
    def etcd_folder(self) -> Path:
        return self.folder / "etcd"

    @property
    def logs(self) -> Path:
        return self.folder / "log"

    @property
    def traces(self) -> Path:
        return self.folder / "trace"

    def names(self) -> tuple[str, ...]:
        """The replicas' names."""
        return tuple(f"replica-{number}" for number in range(1, self.replicas + 1))

    def daemon_names(self) -> tuple[str, ...]:
        """The names of the processes of `lockd serve`."""
        return tuple(f"lockd-{number}" for number in range(1, self.daemons + 1))


def environment() -> dict[str, str]:
    """This process's environment, without what names another cluster."""
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


def port_for(port: int) -> int:
    """A loopback port that nobody has at this moment: the one that a process had before, if it is one."""
    if port:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind((HOST, port))
                return port
    return free_ports(1)[0]
