"""What a fault is, and what it leaves in the hand of whoever applied it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

if TYPE_CHECKING:
    import random
    import threading
    from collections.abc import Sequence
    from pathlib import Path

    from chaos.cluster.interface import Cluster, Target
    from chaos.faults.guard import Guard
    from chaos.faults.remedies import Remedies
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.ports import LockName

PATIENCE: Final = 30.0


class Kind(Enum):
    """What kinds of process a fault may be aimed at."""

    REPLICA = "replica"
    ETCD = "etcd"
    DAEMON = "lockd"


class Need(Enum):
    """What a cluster must have been made with for some faults."""

    LINKS = "links"
    """Proxies between its processes."""
    CLOCKS = "clocks"
    """The library that can shift a replica's wall clock: see `chaos.faults.clocks`."""
    NETWORKS = "networks"
    """Networks that one process can be taken off: containers have them."""
    COLLECTOR = "collector"
    """Replicas that send their telemetry to an address where nobody listens: see `chaos.faults.collector`."""


NOBODY: Final[frozenset[Kind]] = frozenset()
"""What a fault aims at that is aimed at the cluster."""

NOTHING: Final[frozenset[Need]] = frozenset()
"""What most faults need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where faults are applied, and with what.

    Attributes:
        gateway: To the members directly, never through a proxy.
        lock: The lock that the replicas contend for; names the prefix.
        stop: Gives up applying at once; healing goes on regardless.
        random: Seeded: what is left to chance is drawn from here.
        folder: The cluster's; None: it has none.
        guard: Heals what would stay if this process were killed.
        remedies: What heals this cluster without us.
        patience: Seconds that an effect, or its end, may take to show. A bound: most show in milliseconds.
    """

    cluster: Cluster
    gateway: Gateway
    lock: LockName
    clock: Clock
    stop: threading.Event
    random: random.Random
    folder: Path | None
    guard: Guard = field(repr=False)
    remedies: Remedies = field(repr=False)
    patience: float = PATIENCE


class Applied(Protocol):
    """A fault in force."""

    @property
    def at(self) -> float:
        """Just before it was done, on CLOCK_BOOTTIME."""
        ...

    @property
    def wall(self) -> float:
        """The same moment in wall seconds, for display."""
        ...

    @property
    def proof(self) -> str:
        """What was observed that shows that it took effect; one line."""
        ...

    @property
    def over(self) -> bool:
        """Has all been done that it does by itself?

        A kill is over at once; a rolling restart when the last one is back; a cut never is.
        """
        ...

    def heal(self) -> str:
        """Undo it, and give what was observed that shows that it is undone; one line. Done once, however often asked.

        A fault that can't be undone (a kill, a compaction) tells what became of it.

        Raises:
            NotHealed: It can't be shown to be undone.
        """
        ...


class Fault(Protocol):
    """Something that can be done to a cluster; a frozen dataclass whose fields are its parameters.

    One file has one family. A fault undoes what it did in part when it raises.

    Attributes:
        name: In scenarios and on command lines.
        aims: The kinds of targets that it takes; none: it is aimed at the cluster and takes no target.
        needs: What the cluster must have been made with.
    """

    name: ClassVar[str]
    aims: ClassVar[frozenset[Kind]]
    needs: ClassVar[frozenset[Need]]

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        """Do it, and return when its effect is proved.

        Raises:
            NotApplied: It had no effect, or none can be shown.
            NotAvailable: It can't be had on this cluster.
            Interrupted: `scene.stop` was set first.
        """
        ...
