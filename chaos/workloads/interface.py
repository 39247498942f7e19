"""What a run asks of a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.cluster.interface import Target
    from chaos.record import Operation
    from chaos.workloads.waiting import Silence


class Workload(Protocol):
    """Clients of a cluster: they ask, wait, and note when they were answered. They outlive any fault."""

    def start(self) -> None:
        """Begin to ask; what is asked for in vain is asked for again.

        Raises:
            StoreError, OSError: It can't begin.
        """
        ...

    def problem(self, before: float) -> str | None:
        """Is everything answered that was asked for before a moment on CLOCK_BOOTTIME? One line says what is not.

        Raises:
            LockdError: The clients have failed, and ask no more.
        """
        ...

    def longest(self, since: float, until: float) -> Silence | None:
        """The longest silence between two moments; None: nobody waited."""
        ...

    def tidy(self) -> None:
        """Remove what is answered, so that the cluster doesn't fill up.

        Raises:
            StoreError: etcd can't be asked.
        """
        ...

    def clear(self) -> None:
        """Remove all that it made, before it begins or after it stopped.

        Raises:
            StoreError: etcd can't be asked.
        """
        ...

    def operations(self) -> Sequence[Operation]:
        """What the clients did, in order."""
        ...

    def contenders(self) -> Sequence[Target]:
        """Processes of its own that contend for a lock; none where it has none."""
        ...

    def holders(self) -> Sequence[Target]:
        """Those of them that hold it."""
        ...

    def finish(self) -> None:
        """Ask no more, and go on waiting for the answers."""
        ...

    def stop(self) -> None:
        """Ask no more, and return once nothing of it runs."""
        ...
