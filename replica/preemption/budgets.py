"""How many pods a disruption budget lets go.

No controller keeps the status of a budget here, so whoever evicts counts by itself. Expected are the pods that a budget
selects and that have not ended, waiting ones too; or more, where `status.expectedPods` says so.
Healthy are those with a node that are not about to go and whose `Ready` condition, if they have one, is true. What a
share is of, and what may be gone, is the expected number, as in Kubernetes; shares are rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from replica.api.selectors import compile_selector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from replica.api.groups import DisruptionBudget
    from replica.api.pods import Pod

_WHOLE: Final = 100


@dataclass(slots=True)
class Standing:
    """A budget, and how many pods it has.

    Attributes:
        expected: As the pods stand; `status.expectedPods` counts beside it.
    """

    budget: DisruptionBudget
    matches: Callable[[Mapping[str, str]], bool]
    expected: int = 0
    healthy: int = 0

    @classmethod
    def of(cls, budget: DisruptionBudget) -> Standing:
        """A budget without pods."""
        return cls(budget, compile_selector(budget.selector))

    def selects(self, pod: Pod) -> bool:
        """Is it about this pod? One that has ended is nobody's."""
        return pod.namespace == self.budget.namespace and not pod.terminal and self.matches(pod.labels)

    def count(self, pod: Pod, sign: int = 1) -> None:
        """Take a pod in that it selects, or (-1) out."""
        self.expected += sign
        self.healthy += sign * is_healthy(pod)

    @property
    def total(self) -> int:
        """How many pods there should be."""
        return max(self.expected, self.budget.expected or 0)

    @property
    def desired(self) -> int:
        """How many healthy pods there must be; one, where the budget doesn't say."""
        return self.desired_of(self.total)

    def desired_of(self, total: int) -> int:
        """The same, if so many are expected."""
        budget = self.budget
        if budget.min_available is not None:
            return _scaled(budget.min_available, total)
        if budget.max_unavailable is not None:
            return max(0, total - _scaled(budget.max_unavailable, total))
        return 1

    @property
    def allowed(self) -> int:
        """How many healthy pods may go now: `status.disruptionsAllowed`."""
        return max(0, self.healthy - self.desired)


def standings(budgets: Sequence[DisruptionBudget], pods: Sequence[Pod]) -> list[Standing]:
    """Each budget with the pods that it selects."""
    found = [Standing.of(budget) for budget in budgets]
    for standing in found:
        for pod in pods:
            if standing.selects(pod):
                standing.count(pod)
    return found


def is_healthy(pod: Pod) -> bool:
    """Does it do its work? It has a node, it isn't going, and nobody says that it isn't ready."""
    return bool(pod.node) and not pod.deleting and not pod.unready


def _scaled(value: int | str, of: int) -> int:
    if isinstance(value, int):
        return value
    return math.ceil(int(value.removesuffix("%")) * of / _WHOLE)
