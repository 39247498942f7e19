"""Taking a cluster down from outside, whatever state it is in."""

from __future__ import annotations

import contextlib
import shutil
import signal
from typing import TYPE_CHECKING, Final

from chaos.cluster import state as files
from chaos.cluster.claim import claim
from chaos.cluster.process import end_all, eventually
from chaos.cluster.state import FILE
from chaos.errors import NoCluster
from component.process import Gone

if TYPE_CHECKING:
    from pathlib import Path

    from chaos.cluster.state import ClusterState
    from component.clock import Clock

PATIENCE: Final = 40.0
"""Seconds that a supervisor may take: more than it allows its processes together."""

GRACE: Final = 2.0
"""Seconds that what a dead supervisor left behind may take."""


def take_down(folder: Path, *, clock: Clock) -> str:
    """End the cluster of a folder; its logs and traces stay.

    A supervisor holds the claim on its folder as long as it lives, whatever cluster.json says: nothing is removed, and
    nobody is signalled, against that.

    Returns:
        One line that says what was found.

    Raises:
        NoCluster: The folder has none, or a living supervisor that can't be told from cluster.json.
        OSError: The folder can't be opened.
    """
    try:
        state = files.read(folder)
    except NoCluster:
        if not _ours(folder):
            raise
        state = None
    with claim(folder) as free:
        if free:
            return _clean(folder, state, clock)
    if state is None or not state.supervisor.alive:
        raise NoCluster(
            f"{folder}: a living supervisor holds it, and {FILE} does not name it: "
            f"end that `chaosctl up` first (`fuser {folder}` or `lslocks` names it)"
        )
    told = f"the cluster in {folder} is down; its logs and traces are left there"
    for number in (signal.SIGTERM, signal.SIGCONT):  # a stopped process takes SIGTERM only once it goes on
        with contextlib.suppress(Gone):
            state.supervisor.send(number)
    if not eventually(lambda: not state.supervisor.alive, clock=clock, within=PATIENCE):
        with contextlib.suppress(Gone):
            state.supervisor.send(signal.SIGKILL)
        eventually(lambda: not state.supervisor.alive, clock=clock, within=GRACE)
        told = f"the supervisor in {folder} hung and was killed; the cluster is down"
    with claim(folder) as free:
        if free:
            _clean(folder, state, clock)
    return told


def _clean(folder: Path, state: ClusterState | None, clock: Clock) -> str:
    """End and remove what is left without a supervisor."""
    left = [process for process in state.processes() if process.alive] if state is not None else []
    if left:
        end_all(left, clock=clock, patience=GRACE)
    shutil.rmtree(folder / "etcd", ignore_errors=True)
    (folder / FILE).unlink(missing_ok=True)
    who = f"supervisor {state.supervisor.pid} is gone" if state is not None else f"it left no {FILE} to go by"
    return f"the cluster in {folder} had ended without being taken down ({who})"


def _ours(folder: Path) -> bool:
    """Does it hold what `chaosctl up` makes, and nothing else under that name? Then it may be removed."""
    etcd = folder / "etcd"
    if not etcd.is_dir():
        return (folder / FILE).is_file() and (folder / "log" / "supervisor.log").is_file()
    return all(path.name == "members.json" or path.name.startswith("etcd-") for path in etcd.iterdir())
