"""The networks of a project: a container is taken off them, and put back under its aliases."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chaos.cluster.interface import Membership, Target
    from chaos.compose.container import Container
    from chaos.compose.engine import Engine


class ContainerNetworks:
    """A `chaos.cluster.interface.Networks`.

    Args:
        container: That of a target; raises Gone.
    """

    def __init__(self, engine: Engine, container: Callable[[Target], Container]) -> None:
        self._engine = engine
        self._container = container

    def of(self, target: Target) -> tuple[Membership, ...]:
        return self._container(target).networks

    def leave(self, target: Target) -> None:
        container = self._container(target)
        for each in container.networks:
            self._engine.leave(container.id, each.network)

    def join(self, target: Target, memberships: Sequence[Membership]) -> None:
        container = self._container(target)
        for each in memberships:
            self._engine.join(container.id, each)
