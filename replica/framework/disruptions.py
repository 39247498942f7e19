"""What PostFilter decides, and what it asks of disruption budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.api.pods import Pod
    from replica.framework.status import Status


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """What PostFilter decided. The scheduler carries it out.

    Attributes:
        status: Success when room is to be made, a refusal when none can be.
        nominated_node: The node to be cleared for the pod; "" takes back what it was promised before, None leaves that.
        victims: The pods on the node that have to go.
    """

    status: Status
    nominated_node: str | None = None
    victims: tuple[Pod, ...] = ()


class Budgets(Protocol):
    """What preemption asks of disruption budgets: `replica.preemption.book.BudgetBook`.

    Attributes:
        version: Grows whenever an answer may be another one than before.
        budgets_version: Grows whenever a budget was made, changed or removed.
    """

    @property
    def version(self) -> int: ...

    @property
    def budgets_version(self) -> int: ...

    def violated(self, pods: Sequence[Pod]) -> tuple[bool, ...] | None:
        """For each pod: would a budget be violated if it went, and those before it? None: no budget is about any."""
        ...


class _NoBudgets:
    version = 0
    budgets_version = 0

    def violated(self, _pods: Sequence[Pod]) -> None:
        return None


NO_BUDGETS: Final = _NoBudgets()
