"""What a chaos tool asks of a cluster, whatever it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Target:
    """One running process of a cluster.

    Attributes:
        name: Stays the same over restarts, such as `replica-1` or `etcd-2`.
        identity: Of this one process: a replica's holder identity, a member's name.
        pid: On this host.
        started: When the process began, in ticks since boot: a pid may be used again, the pair may not.
        address: A replica's `http://host:port`, a member's `host:port`.
    """

    name: str
    identity: str
    pid: int
    started: int
    address: str


class Cluster(Protocol):
    """A cluster that may be hurt. A target is of the moment: ask again after anything that ends a process."""

    def replicas(self) -> Sequence[Target]:
        """The replicas, running or just ended, by name."""
        ...

    def etcd_members(self) -> Sequence[Target]:
        """The etcd members, running or just ended, by name."""
        ...

    def leader(self) -> Target | None:
        """The replica that holds the lease by etcd's word; None: nobody, or a stranger.

        Raises:
            StoreError: etcd can't be asked.
        """
        ...

    def kill(self, target: Target) -> None:
        """End it without warning (SIGKILL).

        Raises:
            Gone: It has ended already; so do the others below.
        """
        ...

    def terminate(self, target: Target) -> None:
        """Ask it to end (SIGTERM)."""
        ...

    def pause(self, target: Target) -> None:
        """Stop it where it stands (SIGSTOP), and return once it does."""
        ...

    def resume(self, target: Target) -> None:
        """Let it go on (SIGCONT)."""
        ...
