"""What a plugin's factory gets of the scheduler."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from replica.api.priority import Classes
from replica.cache.members import Members
from replica.framework.disruptions import NO_BUDGETS, Budgets
from replica.queue.nominator import Nominator

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from component.clock import Clock
    from replica.api.pods import Pod
    from replica.framework.victims import Advisers
    from replica.framework.waiting import WaitingPods


@dataclass(frozen=True, slots=True)
class Handle:
    """What a plugin's factory gets of the scheduler.

    Attributes:
        draw: The scheduler's random generator (seeded in tests).
        waiting: The pods that Permit holds, to allow or reject.
        listers: Kind, such as `Pod` -> its lister.
        nominator: Which pods were promised which node.
        classes: The priority classes that there are.
        budgets: What disruption budgets let go.
        members: Which pods there are of each pod group.
        extenders: To be asked which nodes preemption may clear; None: nobody is.
    """

    clock: Clock
    draw: random.Random
    waiting: WaitingPods
    listers: Mapping[str, Any] = field(default_factory=dict)
    nominator: Nominator = field(default_factory=Nominator)
    classes: Classes = field(default_factory=Classes)
    budgets: Budgets = NO_BUDGETS
    members: Members = field(default_factory=Members)
    extenders: Advisers | None = None

    def priority(self, pod: Pod) -> int:
        """A pod's priority, by its manifest or its priority class."""
        return self.classes.priority(pod.spec)
