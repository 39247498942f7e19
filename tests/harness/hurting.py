"""`chaosctl hurt` under test: a cluster on which every fault can be had, and what a fault may leave behind on it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import uuid
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from chaos.cluster import health, launch
from chaos.cluster import state as files
from chaos.cluster.interface import Condition
from chaos.cluster.local import LocalCluster
from chaos.cluster.plan import FAST, Plan
from chaos.faults import clocks, registry
from chaos.faults.collector import VARIABLE
from chaos.faults.equipment import equipped
from chaos.faults.fault import Kind, Need
from chaos.proxy.rule import PASS
from component.clock import SystemClock
from component.process import Process
from lockd.errors import StoreError
from lockd.etcd.connection import Connection
from lockd.etcd.gateway import Gateway
from lockd.etcd.maintenance import Maintenance
from lockd.etcd.witness import Witness
from tests.harness.wait import eventually

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from chaos.cluster.interface import Target

CLOCK = SystemClock()
MARK = "LOCKD_TEST_HURT"
"""A variable that tells the processes of one run of `chaosctl hurt` apart."""

ROLES = {Kind.REPLICA: "leader", Kind.ETCD: "etcd-follower", Kind.DAEMON: "lockd"}
LOCAL = tuple(need for need in Need if need is not Need.NETWORKS)
"""What a local cluster can be made with."""

VALUES = {"shift-clock": "1h"}
"""What flags must be given that can't come alone."""


def process(target: Target) -> Process:
    """That of a local cluster's target."""
    return Process(target.pid, target.started)


def words(name: str) -> list[str]:
    """How a fault is asked for on a command line, as plainly as can be."""
    aims = registry.FAULTS[name].aims
    role = next((ROLES[kind] for kind in ROLES if kind in aims), None)
    value = [VALUES[name]] if name in VALUES else []
    return [*([role] if role is not None else []), f"--{name}", *value]


class Hurt:
    """A run of `chaosctl hurt`.

    Attributes:
        temporary: Its folder for temporary files.
    """

    def __init__(self, folder: Path, temporary: Path, arguments: Sequence[str]) -> None:
        self.mark = uuid.uuid4().hex
        self.temporary = temporary
        temporary.mkdir()
        self._log = temporary.with_suffix(".log")
        with self._log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "chaos", "hurt", f"--dir={folder}", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, MARK: self.mark, "TMPDIR": str(temporary)},
            )

    @property
    def said(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def await_proof(self, name: str) -> None:
        """Wait until it says that the fault took effect."""

        def look() -> bool:
            assert self.process.poll() is None, self.said
            return any(line.startswith(f"{name}: ") for line in self.said.splitlines())

        eventually(look, within=100.0, what=f"the proof of {name}")

    def living(self) -> list[str]:
        """Its processes that there still are, and what each runs."""
        wanted = f"{MARK}={self.mark}".encode()
        found = []
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdecimal() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append((folder / "cmdline").read_text(encoding="utf-8").replace("\0", " "))
            except OSError:
                continue  # it ended, or is nobody's
        return found


class Hurtable:
    """A cluster on which every fault can be had."""

    def __init__(self, folder: Path, gateway: Gateway) -> None:
        self.folder = folder
        self.cluster = LocalCluster(folder, gateway)
        self._collector = urlsplit(clocks.environment(self.cluster.replicas()[0]).get(VARIABLE, ""))

    def content(self) -> set[str]:
        """What lies in its folder, but for what processes of a cluster write."""
        return {str(path.relative_to(self.folder)) for path in self.folder.glob("*")} | {
            str(path.relative_to(self.folder)) for path in (self.folder / clocks.FOLDER).glob("*")
        }

    def left(self) -> list[str]:
        """What is left of a fault; nothing once the cluster is as before."""
        found = [
            f"{target.name} is stopped"
            for target in (*self.cluster.replicas(), *self.cluster.etcd_members(), *self.cluster.daemons())
            if self.cluster.condition(target) is Condition.STOPPED
        ]
        if (links := self.cluster.links()) is not None:
            found += [f"a rule is left: {link}" for link in links.all() if links.counters(link).rule != PASS]
        for target in self.cluster.replicas():
            file = self.folder / clocks.FOLDER / target.name
            if file.exists() and file.read_bytes() != clocks.encoded(0.0):
                found.append(f"the clock of {target.name} is shifted")
        with socket.socket() as dialled:
            address = (self._collector.hostname, self._collector.port)
            if self._collector.port and dialled.connect_ex(address) == 0:
                found.append("somebody listens as a collector")
        # On connections of its own: others may wait a while before they try a member again that had ended.
        connection = Connection(endpoints=self.cluster.endpoints())
        with closing(Gateway(connection, purpose="test", witness=Witness())) as gateway:
            try:
                found += [f"{alarm} is in force" for alarm in Maintenance(gateway).alarms(timeout=5.0)]
                for member in self.cluster.etcd_members():
                    gateway.status(member.address, timeout=5.0)
            except StoreError as error:
                found.append(str(error))
        return found

    def restored(self) -> bool:
        """Is it as before, and healthy?"""
        return not self.left() and health.ask(files.read(self.folder)).healthy


@contextmanager
def hurtable(
    folder: Path, *, members: int = 3, replicas: int = 3, daemons: int = 0, needs: Collection[Need] = LOCAL
) -> Iterator[Hurtable]:
    """Such a cluster, taken down in the end; `needs` may ask for less."""
    plan = equipped(Plan(folder=folder, members=members, replicas=replicas, daemons=daemons, flags=FAST), needs)
    supervisor = launch.launch(plan, leashed=True)
    try:
        state = launch.await_health(
            plan, supervisor, threading.Event(), progress=lambda _: None, clock=CLOCK, within=110.0
        )
        gateway = Gateway(Connection(endpoints=state.endpoints), purpose="test", witness=Witness())
        try:
            yield Hurtable(folder, gateway)
        finally:
            gateway.close()
    finally:
        supervisor.end(clock=CLOCK)
