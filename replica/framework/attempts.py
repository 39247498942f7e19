"""Trying a pod on nodes as they would be without some of their pods: what preemption is given to do so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.diagnosis import Diagnosis
    from replica.framework.promises import Promised


class Attempt(Protocol):
    """One pod on one node, from which others are taken away and given back."""

    def without(self, pods: Sequence[Pod]) -> None:
        """Take pods away."""
        ...

    def keeps(self, pod: Pod) -> bool:
        """Give one back that was taken away, if the pod still fits with it there; whether it does."""
        ...

    def fits(self) -> bool:
        """Do all Filter plugins let the pod come, with those that were promised the node, and without them?"""
        ...

    def refusal(self) -> Diagnosis:
        """Why it doesn't fit."""
        ...


class Trial(Protocol):
    """One pod's attempts, one node after the other."""

    @property
    def promised(self) -> Promised:
        """Where pods of equal or higher priority were promised room."""
        ...

    def on(self, row: int) -> Attempt:
        """An attempt on one node. The one before is over."""
        ...


class Trials(Protocol):
    """The Filter plugins of a profile, and what is promised."""

    def kind(self, state: CycleState, pod: Pod, nodes: Nodes) -> Hashable | None:
        """Equal for pods whose trials end alike on nodes that didn't change; None: no other pod's do.

        Args:
            state: As PreFilter left it.
        """
        ...

    def begin(self, state: CycleState, pod: Pod, nodes: Nodes) -> Trial:
        """Trials of one pod.

        Args:
            state: As PreFilter left it; it isn't changed.
        """
        ...
