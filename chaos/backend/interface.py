"""What a run asks of whatever makes its clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection
    from contextlib import AbstractContextManager

    from chaos.cluster.health import Health
    from chaos.cluster.plan import Plan
    from chaos.faults.fault import Need
    from chaos.faults.place import Place
    from component.clock import Clock
    from lockd.etcd.connection import Connection
    from lockd.etcd.gateway import Gateway
    from lockd.ports import LockName


class Standing(Protocol):
    """A cluster that is up.

    Attributes:
        connection: To etcd's members, as they are dialled from here.
        has_data: Does etcd's data lie in the plan's folder?
        stays: Does the cluster go on after the run? Then what clients made of it is removed.
    """

    connection: Connection
    has_data: bool
    stays: bool

    def place(self, gateway: Gateway, lock: LockName) -> AbstractContextManager[Place]:
        """Where faults are applied; leave the context when nobody asks it any more."""
        ...

    def gather(self) -> None:
        """Have what its processes wrote so far in the plan's folders.

        Raises:
            LockdError, OSError: It can't be had.
        """
        ...


class Backend(Protocol):
    """Makes clusters.

    Attributes:
        name: As the command line says it.
        lingers: Seconds for which a cluster may go on, and write, after this process was killed.
        traced: Do replicas write traces where a run finds them? Otherwise nobody tells how a hand-off went inside.
    """

    name: str
    lingers: float
    traced: bool

    def equipped(self, plan: Plan, needs: Collection[Need]) -> Plan:
        """The plan of a cluster that has what faults need; files of it go to the plan's folder.

        Raises:
            NotAvailable: Something of it can't be had; says why.
        """
        ...

    def standing(
        self, plan: Plan, *, clock: Clock, stop: threading.Event, progress: Callable[[Health], None]
    ) -> AbstractContextManager[Standing]:
        """Make a cluster, and take it down at the end of the block.

        Raises:
            NotStarted, TooSlow, NotAvailable, Interrupted: It did not come up; nothing of it is left.
        """
        ...
