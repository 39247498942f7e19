"""Taking a cluster down from outside, whatever state it is in."""

from __future__ import annotations

import contextlib
import shutil
import signal
from typing import TYPE_CHECKING, Final

from chaos.cluster import state as files
from chaos.cluster.process import end_all, eventually
from chaos.cluster.state import FILE
from component.process import Gone

if TYPE_CHECKING:
    from pathlib import Path

    from component.clock import Clock

PATIENCE: Final = 40.0
"""Seconds that a supervisor may take: more than it allows its processes together."""

GRACE: Final = 2.0
"""Seconds that what a dead supervisor left behind may take."""


def take_down(folder: Path, *, clock: Clock) -> str:
    """End the cluster of a folder; its logs and traces stay.

    Returns:
        One line that says what was found.

    Raises:
        NoCluster: The folder has none.
    """
    state = files.read(folder)
    told = f"the cluster in {folder} is down; its logs and traces are left there"
    try:
        state.supervisor.send(signal.SIGTERM)
        with contextlib.suppress(Gone):
            state.supervisor.send(signal.SIGCONT)  # a stopped process takes SIGTERM only once it goes on
    except Gone:
        told = f"the cluster in {folder} had ended without being taken down (supervisor {state.supervisor.pid} is gone)"
    else:
        if not eventually(lambda: not state.supervisor.alive, clock=clock, within=PATIENCE):
            with contextlib.suppress(Gone):
                state.supervisor.send(signal.SIGKILL)
            told = f"the supervisor in {folder} hung and was killed; the cluster is down"
    left = [process for process in state.processes() if process.alive]
    if left:
        end_all(left, clock=clock, patience=GRACE)
    shutil.rmtree(folder / "etcd", ignore_errors=True)
    (folder / FILE).unlink(missing_ok=True)
    return told
