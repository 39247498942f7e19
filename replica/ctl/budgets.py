"""What disruption budgets let a drain take.

No controller makes new pods for evicted ones here. So what a budget expects is the most that it had since the drain
began: a pod that was evicted is missed until another has taken its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from replica.preemption.budgets import is_healthy, standings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.api.groups import DisruptionBudget
    from replica.api.pods import Pod
    from replica.ctl.getting import Stored
    from replica.preemption.budgets import Standing


class Budgets:
    """The disruption budgets during one drain."""

    def __init__(self) -> None:
        self._expected: dict[str, int] = {}
        self._standing: list[Standing] = []

    def see(self, budgets: Sequence[Stored], pods: Sequence[Stored]) -> None:
        """Take budgets and all pods as they stand now."""
        self._standing = standings([cast("DisruptionBudget", each.object) for each in budgets], list(map(_pod, pods)))
        for standing in self._standing:
            path = standing.budget.path
            self._expected[path] = max(self._expected.get(path, 0), standing.total)

    def refusal(self, pod: Stored) -> str:
        """The budget that a pod's eviction would violate; "" if there is none."""
        for standing in self._standing:
            if standing.selects(_pod(pod)) and not self._allows(standing, _pod(pod)):
                return standing.budget.name
        return ""

    def evicted(self, pod: Stored) -> None:
        """The pod is gone."""
        for standing in self._standing:
            if standing.selects(_pod(pod)):
                standing.count(_pod(pod), -1)

    def _allows(self, standing: Standing, pod: Pod) -> bool:
        """One that isn't healthy may go while those that are suffice."""
        return standing.healthy - is_healthy(pod) >= standing.desired_of(self._expected[standing.budget.path])


def _pod(stored: Stored) -> Pod:
    return cast("Pod", stored.object)
