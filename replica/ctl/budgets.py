"""How many pods disruption budgets let go, as a drain sees it.

No controller here keeps a budget's status or makes new pods for evicted ones. So what a budget expects is the most pods
that it had since the drain began (or what its status says it expects): a pod that was evicted is missed until another
has taken its place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

from replica.api.selectors import compile_selector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from replica.api.groups import DisruptionBudget
    from replica.ctl.getting import Stored

_WHOLE: Final = 100


class Budgets:
    """The disruption budgets during one drain."""

    def __init__(self) -> None:
        self._expected: dict[str, int] = {}
        self._standing: list[_Standing] = []

    def see(self, budgets: Sequence[Stored], pods: Sequence[Stored]) -> None:
        """Take budgets and all pods as they stand now."""
        self._standing = []
        for budget in budgets:
            standing = _Standing(budget, pods)
            path = budget.object.path
            self._expected[path] = max(self._expected.get(path, 0), standing.expected)
            standing.expected = self._expected[path]
            self._standing.append(standing)

    def refusal(self, pod: Stored) -> str:
        """The budget that a pod's eviction would violate; "" if there is none."""
        for standing in self._standing:
            if standing.selects(pod) and not standing.allows(pod):
                return standing.budget.object.name
        return ""

    def evicted(self, pod: Stored) -> None:
        """The pod is gone."""
        for standing in self._standing:
            if standing.selects(pod) and is_healthy(pod):
                standing.healthy -= 1


class _Standing:
    """One budget and its pods."""

    def __init__(self, budget: Stored, pods: Sequence[Stored]) -> None:
        self.budget = budget
        self._matches: Callable[[Mapping[str, str]], bool] = compile_selector(_spec(budget).selector)
        mine = [pod for pod in pods if self.selects(pod)]
        said = (budget.manifest.get("status") or {}).get("expectedPods")
        self.expected = max(len(mine), said if isinstance(said, int) else 0)
        self.healthy = sum(map(is_healthy, mine))

    def selects(self, pod: Stored) -> bool:
        if pod.object.namespace != self.budget.object.namespace or getattr(pod.object, "terminal", False):
            return False
        return self._matches(pod.object.labels)

    @property
    def desired(self) -> int:
        """How many healthy pods there must be; one, where the budget doesn't say."""
        spec = _spec(self.budget)
        if spec.min_available is not None:
            return _scaled(spec.min_available, self.expected)
        if spec.max_unavailable is not None:
            return max(0, self.expected - _scaled(spec.max_unavailable, self.expected))
        return 1

    def allows(self, pod: Stored) -> bool:
        """One that isn't healthy may go while those that are suffice."""
        return self.healthy - is_healthy(pod) >= self.desired


def is_healthy(pod: Stored) -> bool:
    """Is it ready, by its condition; where nobody said so: has it a node, and isn't it going?"""
    conditions = (pod.manifest.get("status") or {}).get("conditions") or []
    for each in conditions:
        if isinstance(each, dict) and each.get("type") == "Ready":
            return each.get("status") == "True"
    return bool(getattr(pod.object, "node", "")) and not getattr(pod.object, "deleting", False)


def _spec(budget: Stored) -> DisruptionBudget:
    return cast("DisruptionBudget", budget.object)


def _scaled(value: int | str, of: int) -> int:
    """A number, or a share rounded up, as Kubernetes does."""
    if isinstance(value, int):
        return value
    return math.ceil(int(value.removesuffix("%")) * of / _WHOLE)
