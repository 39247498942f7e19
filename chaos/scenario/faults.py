"""What a scenario's faults may be called, and what each may be given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chaos.scenario.model import Action


class Faults(Protocol):
    """The faults that there are."""

    def problems(self, action: Action) -> Iterable[tuple[str, str]]:
        """What is wrong with an action's fault, its parameters and whom it is aimed at: a path in it, and one line."""
        ...
