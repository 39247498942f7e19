"""Nobody wants anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaos.cluster.interface import Target
    from chaos.record import Operation


class Idle:
    """A `chaos.workloads.interface.Workload` without clients."""

    def start(self) -> None:
        """There is nobody to begin."""

    def problem(self, before: float) -> None:  # noqa: ARG002 - nobody asks at any time
        return None

    def longest(self, since: float, until: float) -> None:  # noqa: ARG002 - nobody waits at any time
        return None

    def tidy(self) -> None:
        """There is nothing."""

    def clear(self) -> None:
        """There is nothing."""

    def operations(self) -> tuple[Operation, ...]:
        return ()

    def contenders(self) -> tuple[Target, ...]:
        return ()

    def holders(self) -> tuple[Target, ...]:
        return ()

    def finish(self) -> None:
        """There is nobody who asks."""

    def stop(self) -> None:
        """There is nobody to end."""
