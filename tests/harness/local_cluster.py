"""A cluster by `chaosctl up` for one test, whatever it does to it."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chaos.cluster import state as files
from chaos.cluster.local import LocalCluster
from lockd.etcd.connection import Connection
from tests.harness.etcd import opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lockd.etcd.gateway import Gateway


def chaosctl(*words: object, within: float = 100) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "chaos", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=within, check=False)


@contextmanager
def running(folder: Path, *words: str) -> Iterator[tuple[LocalCluster, Gateway]]:
    """A cluster in a folder, and a gateway to its etcd. It is down afterwards.

    Args:
        words: Further words of `chaosctl up`.
    """
    made = chaosctl("up", "--dir", folder, "--detach", *words)
    assert made.returncode == 0, made.stderr
    try:
        state = files.read(folder)
        with opened(Connection(endpoints=state.endpoints)) as gateway:
            yield LocalCluster(folder, gateway), gateway
    finally:
        chaosctl("down", "--dir", folder)
