"""The supervisor of a local cluster: makes it, keeps its replicas running, tells cluster.json, takes it down."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import threading
from typing import TYPE_CHECKING, Final

from chaos.cluster import state as files
from chaos.cluster.replicas import Replicas
from chaos.cluster.state import FILE, ClusterState, MemberState
from component.clock import SystemClock
from component.process import Process
from lockd.errors import ConfigError
from lockd.etcd.embedded import Embedded
from lockd.etcd.gateway import Gateway
from lockd.etcd.retry import settle
from lockd.etcd.witness import Witness
from lockd.ports import Compare, Field, Put, Txn
from lockd.record import display_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from chaos.cluster.plan import Plan
    from component.clock import Clock

STEP: Final = 0.05
"""Seconds between two looks at the processes."""

MARKER: Final = "chaos-allowed"
"""The key, under the prefix, that allows faults on a cluster."""


def supervise(
    plan: Plan, stop: threading.Event, *, clock: Clock | None = None, tell: Callable[[str], None] = lambda _: None
) -> None:
    """Make a cluster, keep it until `stop` is set, take it down.

    The calling thread is the one that all processes end with, however it ends.

    Args:
        tell: Gets one line for each thing that a person may want to know.

    Raises:
        ConfigError: The folder is in use, or there is no etcd to run.
        StoreError: etcd didn't come up.
        OSError: A process or a file could not be made.
    """
    clock = clock or SystemClock()
    with contextlib.ExitStack() as undo:
        undo.enter_context(_claimed(plan.folder))
        for folder in (plan.logs, plan.traces):
            folder.mkdir(exist_ok=True)
        undo.callback(shutil.rmtree, plan.etcd_folder, ignore_errors=True)
        etcd = undo.enter_context(
            Embedded.start(members=plan.members, directory=plan.etcd_folder, auto_compaction=False)
        )
        undo.callback(_kill, etcd)
        _allow_chaos(plan.prefix, etcd, clock)
        replicas = Replicas(plan, etcd.endpoints, clock=clock, tell=tell)
        undo.callback((plan.folder / FILE).unlink, missing_ok=True)
        undo.callback(replicas.stop)
        replicas.start()
        for replica in replicas.state():
            tell(f"{replica.name}: {replica.http} log {replica.log}")
        tell(f"etcd: {','.join(etcd.endpoints)} prefix {plan.prefix}")
        tell(f"cluster: {plan.folder / FILE}")
        shown: ClusterState | None = None
        while True:
            now = ClusterState(
                prefix=plan.prefix,
                endpoints=etcd.endpoints,
                supervisor=Process.of(os.getpid()),
                etcd=_members(etcd, shown),
                replicas=replicas.state(),
            )
            if now != shown:
                files.write(plan.folder, now)
                shown = now
            if clock.wait(stop, STEP):
                break
            replicas.step()


@contextlib.contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Hold the folder against other supervisors. The claim ends with this process, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ConfigError((f"{folder}: {error.strerror}: choose another with --dir",)) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigError(
                (f"{folder}: a cluster runs there: take it down first, or choose another with --dir",)
            ) from error
        if (folder / "etcd").exists() or (folder / FILE).exists():
            problem = f"{folder}: holds what an earlier cluster left: run `chaosctl down --dir {folder}` first"
            raise ConfigError((problem,))
        yield
    finally:
        os.close(handle)


def _kill(etcd: Embedded) -> None:
    """End the members at once: their data is removed, so nobody waits for an orderly end."""
    for member in etcd.members:
        member.kill()


def _allow_chaos(prefix: str, etcd: Embedded, clock: Clock) -> None:
    """Put the marker key, if nobody has."""
    gateway = Gateway(etcd.connection, purpose="chaos", witness=Witness(), clock=clock)
    key = f"{prefix}/{MARKER}"
    value = json.dumps({"by": f"chaosctl up, process {os.getpid()}", "since": display_time(clock.wall())}).encode()
    try:
        absent = Compare(key, Field.MOD, 0)
        settle(
            gateway,
            Txn(compares=(absent,), then=(Put(key, value),)),
            clock=clock,
            stop=threading.Event(),
            attempt=1.0,
            within=10.0,
        )
    finally:
        gateway.close()


def _members(etcd: Embedded, shown: ClusterState | None) -> tuple[MemberState, ...]:
    """The members as they run now; one that has ended is shown as it was."""
    before = {member.name: member for member in shown.etcd} if shown is not None else {}
    states = []
    for member in etcd.members:
        old = before.get(member.name)
        if old is not None and old.pid == member.pid:
            states.append(old)
            continue
        states.append(
            MemberState(
                name=member.name,
                endpoint=member.endpoint,
                pid=member.pid,
                started=member.started,
                data_dir=str(member.data_dir),
            )
        )
    return tuple(states)
