"""Candidates for preemption, as those outside the scheduler are asked about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replica.api.pods import Pod


@dataclass(frozen=True, slots=True)
class Victims:
    """Pods that would have to go from a node.

    Attributes:
        violations: How many disruption budgets that would violate.
    """

    pods: tuple[Pod, ...]
    violations: int = 0


class Advisers(Protocol):
    """Who has a say in preemption: `replica.framework.extenders.Extenders`."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def preempt(self, pod: Pod, candidates: Mapping[str, Victims]) -> Mapping[str, Victims]:
        """The candidates that are left, each with those of its victims that must go indeed.

        Raises:
            PluginFailed: Somebody failed who may not be ignored.
        """
        ...
