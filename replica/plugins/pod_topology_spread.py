"""PodTopologySpread: pods of a kind are spread over zones, nodes, or whatever a label of the nodes tells apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from replica.framework.interface import PreFilterResult, Refusal
from replica.framework.outlook import NOTHING
from replica.framework.status import SKIP, SUCCESS, Code
from replica.plugins.arguments import SYSTEM_CONSTRAINTS
from replica.plugins.crowding import Crowding, ranks
from replica.plugins.node_terms import wish_of
from replica.plugins.spread_hints import SpreadHints
from replica.plugins.spread_outlook import outlook_of
from replica.plugins.spread_plan import SpreadPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.api.affinity import SpreadConstraint
    from replica.api.pods import Pod
    from replica.cache.arrays import Amounts, Flags
    from replica.cache.nodes import Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle
    from replica.framework.outlook import Outlook
    from replica.framework.status import Status
    from replica.plugins.arguments import PodTopologySpreadArgs
    from replica.queue.hints import Registration

NAME: Final = "PodTopologySpread"
REASON: Final = "node(s) didn't match pod topology spread constraints"
REASON_NO_LABEL: Final = f"{REASON} (missing required label)"

_ALL: Final = PreFilterResult()
_NOTHING_REQUIRED: Final = PreFilterResult(SKIP)


@dataclass(slots=True)
class _Filtering:
    """What Filter needs.

    Attributes:
        more: By constraint, domain -> pods that would come there, or go, in a dry run.
    """

    plan: SpreadPlan
    more: list[dict[int, int]]

    def clone(self) -> _Filtering:
        return _Filtering(self.plan, [dict(each) for each in self.more])


class PodTopologySpread:
    """PreFilter, Filter, PreScore and Score, by the pod's constraints or, where it has none, by default ones."""

    name = NAME

    def __init__(self, args: PodTopologySpreadArgs) -> None:
        self._by_system = args.defaulting_type == "System"
        self._defaults = SYSTEM_CONSTRAINTS if self._by_system else args.default_constraints
        self._hints = SpreadHints(NAME, self.constraints)

    def constraints(self, pod: Pod) -> Sequence[SpreadConstraint]:
        """Those that a pod is placed by. The default ones are for pods that something controls."""
        return pod.spec.spread or (self._defaults if pod.owner else ())

    def concerns(self, pod: Pod, _nodes: Nodes) -> bool:
        return bool(self.constraints(pod))

    def outlook(self, pod: Pod, nodes: Nodes) -> Outlook | None:
        """All of it, where it can be told by domains."""
        plan = self._plan(pod, nodes)
        return NOTHING if plan is None else outlook_of(plan)

    # --- Filter

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> PreFilterResult:
        plan = self._plan(pod, nodes)
        if plan is None or not plan.required:
            return _NOTHING_REQUIRED
        state.write(NAME, _Filtering(plan, [{} for _ in plan.required]))
        return _ALL

    def add_pod(self, state: CycleState, _pod: Pod, added: Pod, nodes: Nodes) -> Status:
        return self._count(state, added, nodes, 1)

    def remove_pod(self, state: CycleState, _pod: Pod, removed: Pod, nodes: Nodes) -> Status:
        return self._count(state, removed, nodes, -1)

    def filter(self, state: CycleState, _pod: Pod, nodes: Nodes) -> Flags | None:
        found = state.find(NAME, _Filtering)
        flags: Flags | None = None
        if found is not None:
            for constraint, more in zip(found.plan.required, found.more, strict=True):
                allowed = constraint.allowed(more).take(nodes.cut(constraint.tally.domains.ids))
                flags = allowed if flags is None else flags & allowed
        return flags

    def explain(self, state: CycleState, _pod: Pod, nodes: Nodes) -> Sequence[Refusal]:
        found = state.find(NAME, _Filtering)
        refusals: list[Refusal] = []
        left = np.ones(nodes.size, np.bool_)
        if found is not None:
            for constraint, more in zip(found.plan.required, found.more, strict=True):
                ids = nodes.cut(constraint.tally.domains.ids)
                lacking, allowed = ids == 0, constraint.allowed(more).take(ids)
                refusals.append(Refusal(REASON_NO_LABEL, left & lacking, Code.UNRESOLVABLE))
                refusals.append(Refusal(REASON, left & ~lacking & ~allowed))
                left &= allowed
        return refusals

    # --- Score

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes, feasible: Flags) -> Status:
        plan = self._plan(pod, nodes)
        if plan is None or not plan.preferred:
            return SKIP
        state.write(f"{NAME}/Score", Crowding(plan, nodes, feasible))
        return SUCCESS

    def score(self, state: CycleState, _pod: Pod, _nodes: Nodes) -> Amounts:
        """int64[size]: how crowded the node's domains are."""
        return state.read(f"{NAME}/Score", Crowding).raw

    def normalize(self, state: CycleState, _pod: Pod, scores: Amounts, _feasible: Flags) -> Amounts:
        """The less crowded the better."""
        return state.read(f"{NAME}/Score", Crowding).scores(scores)

    def rank(self, _state: CycleState, pod: Pod, nodes: Nodes, feasible: Flags) -> Amounts | None:
        """What the three steps come to."""
        plan = self._plan(pod, nodes)
        return ranks(plan, nodes, feasible) if plan is not None and plan.preferred else None

    # --- what may help

    def events_to_register(self) -> Sequence[Registration]:
        return self._hints.registrations()

    # --- parts

    def _plan(self, pod: Pod, nodes: Nodes) -> SpreadPlan | None:
        """None where nothing is asked for."""
        given = self.constraints(pod)
        if not given:
            return None
        census, spec = nodes.census, pod.spec
        census.sync()
        if spec.spread:
            return census.plan(
                (self, pod.namespace, pod.labels, spec),
                lambda: SpreadPlan(census, pod, given, by_owner=False, every_key=True),
            )
        return census.plan(
            (self, pod.namespace, pod.owner, wish_of(spec), spec.tolerations),
            lambda: SpreadPlan(census, pod, given, by_owner=True, every_key=not self._by_system),
        )

    @staticmethod
    def _count(state: CycleState, other: Pod, nodes: Nodes, sign: int) -> Status:
        found = state.find(NAME, _Filtering)
        if found is not None and nodes.part is not None:
            (row,) = nodes.part
            for constraint, more in zip(found.plan.required, found.more, strict=True):
                tally, domains = constraint.tally, constraint.tally.domains
                weight = tally.weigh(other)
                if weight and domains.counted.item(row):
                    number = domains.ids.item(row)
                    more[number] = more.get(number, 0) + sign * weight
        return SUCCESS


def make(args: PodTopologySpreadArgs, _handle: Handle) -> PodTopologySpread:
    return PodTopologySpread(args)
