"""DefaultPreemption: where no node can take a pod, one is chosen from which pods go that matter less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replica.framework.diagnosis import Diagnosis
from replica.framework.disruptions import PostFilterResult
from replica.framework.status import SUCCESS, unschedulable
from replica.preemption.metrics import PreemptionMetrics
from replica.preemption.search import NOT_HELPFUL, Search

if TYPE_CHECKING:
    from replica.api.pods import Pod
    from replica.cache.nodes import Nodes
    from replica.framework.attempts import Trials
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle
    from replica.framework.status import Status
    from replica.plugins.arguments import DefaultPreemptionArgs

NAME = "DefaultPreemption"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."


class DefaultPreemption:
    """PostFilter. It decides; the scheduler writes the promise and the victims' deletion as one."""

    name = NAME

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        self._percentage = args.min_candidate_nodes_percentage
        self._absolute = args.min_candidate_nodes_absolute
        self._handle = handle
        self._search = Search(handle.priority, handle.budgets, advisers=handle.extenders)
        self._metrics = PreemptionMetrics()
        self._trials: Trials | None = None

    def equip(self, trials: Trials) -> None:
        self._trials = trials

    def post_filter(self, state: CycleState, pod: Pod, nodes: Nodes, diagnosis: Diagnosis) -> PostFilterResult:
        self._metrics.attempt()
        if self._trials is None:
            raise LookupError("it was given no Filter plugins to try")
        if reason := self._ineligible(pod, nodes, diagnosis):
            return PostFilterResult(_refused(reason))
        if diagnosis.pre_filter:
            # Whoever refuses a pod before any node is looked at, refuses it whoever is on them.
            return PostFilterResult(_refused(_told(nodes, {NOT_HELPFUL: nodes.count})), nominated_node="")
        possible = np.zeros(nodes.size, np.bool_) if diagnosis.resolvable is None else diagnosis.resolvable
        found = self._search.run(
            self._trials.begin(state, pod, nodes),
            pod,
            nodes,
            possible & nodes.valid,
            kind=self._trials.kind(state, pod, nodes),
            offset=self._handle.draw.randrange,
            wanted=self._wanted,
        )
        if found.row is None or found.victims is None:
            return PostFilterResult(_refused(_told(nodes, dict(found.reasons or {}))), nominated_node="")
        return PostFilterResult(SUCCESS, nodes.names[found.row], found.victims.pods)

    def _wanted(self, nodes: int) -> int:
        """How many nodes that can be cleared are enough to choose among."""
        return min(max(nodes * self._percentage // 100, self._absolute), nodes)

    def _ineligible(self, pod: Pod, nodes: Nodes, diagnosis: Diagnosis) -> str:
        """Why a pod may not have others go for it; "" if it may."""
        if not self._handle.classes.preempts(pod.spec):
            return NEVER
        name = self._handle.nominator.node_of(pod.path)
        row = nodes.index.get(name) if name else None
        if row is None or diagnosis.resolvable is None or not diagnosis.resolvable[row]:
            return ""  # nothing is promised, or it would not help any more
        own = self._handle.priority(pod)
        going = (other.ends and self._handle.priority(other) < own for other in nodes.pods[row].values())
        return TERMINATING if any(going) else ""


def make(args: DefaultPreemptionArgs, handle: Handle) -> DefaultPreemption:
    return DefaultPreemption(args, handle)


def _refused(reason: str) -> Status:
    return unschedulable(f"preemption: {reason}")


def _told(nodes: Nodes, reasons: dict[str, int]) -> str:
    return Diagnosis(nodes.count, reasons).message
