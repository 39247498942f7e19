"""What a term does about preemption: it promises room, has victims go, and takes promises back that don't hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from replica.api.status import UNSCHEDULABLE
from replica.preemption.metrics import PreemptionMetrics
from replica.preemption.plan import Preemption

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from replica.api.pods import Pod
    from replica.framework.waiting import WaitingPods
    from replica.preemption.book import BudgetBook
    from replica.queue.nominator import Nominator
    from replica.statuses import StatusWriter


class Writer(Protocol):
    """Who carries preemptions out: `replica.preemption.evictions.Evictions`."""

    def ask(self, preemption: Preemption) -> None: ...

    def withdraw(self, uid: str) -> bool: ...

    def pending(self, uid: str) -> bool: ...


class Preemptor:
    """One term's preemptions, from the decision to what became of it. Called from several threads.

    Args:
        priority: A pod's.
        assumed: Is a pod (by uid) on its way to a node?
    """

    def __init__(
        self,
        *,
        nominator: Nominator,
        budgets: BudgetBook,
        waiting: WaitingPods,
        statuses: StatusWriter,
        priority: Callable[[Pod], int],
        assumed: Callable[[str], bool],
    ) -> None:
        self._nominator = nominator
        self._budgets = budgets
        self._waiting = waiting
        self._statuses = statuses
        self._priority = priority
        self._assumed = assumed
        self._metrics = PreemptionMetrics()
        self.writer: Writer

    # --- what the scheduling cycle says and asks

    def make_room(self, pod: Pod, node: str, victims: Sequence[Pod], message: str) -> None:
        """Promise a node to a pod, and have the victims go.

        Pods that matter less lose what they were promised there: they could not all come.
        """
        own = self._priority(pod)
        for other in self._nominator.promised(node):
            if other.path != pod.path and self._priority(other) < own:
                self._nominator.nominate(other, "")
                self._statuses.take_back(other)
        self._nominator.nominate(pod, node)
        # Who waits in Permit has no place yet that could be taken from it: it is told, and goes on waiting.
        going = [victim for victim in victims if not self._waiting.reject(victim.uid, "", "preempted")]
        self._budgets.going(victim.uid for victim in going)
        self._statuses.withdraw(pod.uid)
        self.writer.ask(Preemption(pod=pod, node=node, victims=tuple(going), reason=UNSCHEDULABLE, message=message))

    def promise(self, pod: Pod, node: str | None) -> str:
        """What a pod's status is to say that was refused: "" takes a promise back, None leaves it as it is."""
        if node is None:
            return self._nominator.node_of(pod.path)
        if not node and self._nominator.node_of(pod.path):
            self._nominator.nominate(pod, "")
        return node

    def pending(self, uid: str) -> bool:
        """Is room being made for a pod that the cache doesn't show yet?"""
        return self.writer.pending(uid)

    def placed(self, uid: str) -> bool:
        """A pod has a place: what waits to be done for it isn't needed. False while a write of it is on its way."""
        return self.writer.withdraw(uid)

    # --- what the writer says

    def carried_out(self, marked: Sequence[Pod], spared: Sequence[Pod]) -> None:
        """A preemption is written: it marked, or deleted, some victims; others had gone before, or stand elsewhere."""
        self._budgets.staying(victim.uid for victim in spared)
        if marked:
            self._metrics.victims(len(marked))

    def called_off(self, preemption: Preemption) -> None:
        """Nothing of it was written, nor will be."""
        self._budgets.staying(victim.uid for victim in preemption.victims)
        if self._nominator.node_of(preemption.pod.path) == preemption.node:
            self._nominator.nominate(preemption.pod, "")

    def is_assumed(self, uid: str) -> bool:
        """Is the pod on its way to a node?"""
        return self._assumed(uid)
