"""Where faults are applied: a cluster, and all that it takes to hurt it and to heal it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from chaos.cluster.interface import Cluster
    from chaos.faults.remedies import Remedies
    from lockd.etcd.gateway import Gateway
    from lockd.ports import LockName


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A cluster that may be hurt.

    Attributes:
        gateway: To the members directly.
        lock: The lock that the replicas contend for; names the prefix.
        remedies: What heals this cluster without us.
        folder: Its own; None: it has none.
        marked: Must it carry the marker that allows faults, whatever they are? Otherwise only those of etcd, and of
            all of it, ask for it.
    """

    cluster: Cluster
    gateway: Gateway
    lock: LockName
    remedies: Remedies
    folder: Path | None
    marked: bool = True
