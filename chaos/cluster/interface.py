"""What a chaos tool asks of a cluster, whatever it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.proxy.interface import Links


class Condition(Enum):
    """How a process is at one moment."""

    RUNNING = "running"
    STOPPED = "stopped"
    """It stands where it stood, and can go on."""
    GONE = "gone"
    """It has ended; who has its name now is another one."""


@dataclass(frozen=True, slots=True)
class Target:
    """One running process of a cluster.

    Attributes:
        name: Stays the same over restarts, such as `replica-1`, `etcd-2` or `lockd-1`.
        identity: Of this one process: a replica's holder identity, a member's name, a `lockd`'s instance.
        pid: Where it runs: on this host, or on that of its container.
        started: When the process began, in ticks since boot or in nanoseconds since 1970, as the cluster likes: a pid
            may be used again, the pair may not.
        address: A replica's `http://host:port`; a member's or a `lockd`'s `host:port`; as they are dialled from here.
    """

    name: str
    identity: str
    pid: int
    started: int
    address: str

    def is_same(self, other: Target) -> bool:
        """Is it the same process, whatever is known of it now?"""
        return (self.name, self.pid, self.started) == (other.name, other.pid, other.started)


@dataclass(frozen=True, slots=True)
class End:
    """The end of one process.

    Attributes:
        name: Of the target that it was.
        identity: The same.
        code: Its exit code; -N: a signal N ended it.
        at: When it was seen, on CLOCK_BOOTTIME.
    """

    name: str
    identity: str
    code: int
    at: float


@dataclass(frozen=True, slots=True)
class Membership:
    """That a process is in a network of its own kind.

    Attributes:
        aliases: By which the others there find it.
        address: That it has there; "": none at the moment.
        fixed: The addresses that its owner gave it there; none: whichever are free.
    """

    network: str
    aliases: tuple[str, ...] = ()
    address: str = ""
    fixed: tuple[str, ...] = ()


class Networks(Protocol):
    """The networks that connect a cluster, of which one process can be taken off. A target that has ended is Gone."""

    def of(self, target: Target) -> Sequence[Membership]:
        """Those that it is in now."""
        ...

    def leave(self, target: Target) -> None:
        """Take it off all of them."""
        ...

    def join(self, target: Target, memberships: Sequence[Membership]) -> None:
        """Put it back, where it isn't."""
        ...


class Cluster(Protocol):
    """A cluster that may be hurt. A target is of the moment: ask again after anything that ends a process."""

    def replicas(self) -> Sequence[Target]:
        """The replicas, running or just ended, by name."""
        ...

    def etcd_members(self) -> Sequence[Target]:
        """The etcd members, running or just ended, by name."""
        ...

    def daemons(self) -> Sequence[Target]:
        """The processes of `lockd serve`, running or just ended, by name."""
        ...

    def condition(self, target: Target) -> Condition:
        """How this very process is now."""
        ...

    def ends(self) -> Sequence[End]:
        """The ends of replicas and daemons since the cluster began, in order."""
        ...

    def leader(self) -> Target | None:
        """The replica that holds the lease by etcd's word; None: nobody, or a stranger.

        Raises:
            StoreError: etcd can't be asked.
        """
        ...

    def etcd_leader(self) -> Target | None:
        """The member that leads etcd by its own word; None: no member that answers says so."""
        ...

    def endpoints(self) -> tuple[str, ...]:
        """The members', `host:port`: directly, never through a proxy."""
        ...

    def links(self) -> Links | None:
        """What a network can do; None: this cluster has no proxies."""
        ...

    def networks(self) -> Networks | None:
        """Its networks; None: its processes share that of their host."""
        ...

    def evidence(self, target: Target, what: str, since: float) -> str:
        """What somebody else tells of something that happened to a target, in words; "": nobody does.

        Args:
            what: `die`, `pause`, `disconnect` or `connect`.
            since: In wall seconds.
        """
        ...

    def start(self, target: Target) -> Target:
        """Start what has ended again, under its name: an etcd member on its data and port.

        Replicas and `lockd` come back by themselves in a cluster that restarts them, and by this at once.

        Returns:
            The new process, once it can be dialled; the present one if it runs.

        Raises:
            NotStarted: It ended again, or nobody could start it.
            TooSlow: It can't be dialled in time.
        """
        ...

    def kill(self, *targets: Target) -> None:
        """End them without warning (SIGKILL), and return once they have.

        Several are first found and then killed, so that none has the time to carry on what another one did.

        Raises:
            Gone: One has ended already; so do the others below.
        """
        ...

    def terminate(self, *targets: Target) -> None:
        """Ask them to end (SIGTERM), all at once too."""
        ...

    def pause(self, target: Target) -> None:
        """Stop it where it stands (SIGSTOP), and return once it does."""
        ...

    def resume(self, target: Target) -> None:
        """Let it go on (SIGCONT)."""
        ...
