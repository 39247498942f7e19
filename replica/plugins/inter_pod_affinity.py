"""InterPodAffinity: pods that want each other near, or away, by a label of their nodes; both sides are heard."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from replica.cache.cohort import says_something
from replica.framework.interface import HIGHEST_SCORE, PreFilterResult, Refusal
from replica.framework.outlook import NOTHING, NOTHING_NOW
from replica.framework.status import SKIP, SUCCESS, Code
from replica.plugins.affinity_hints import AffinityHints
from replica.plugins.affinity_outlook import outlook_of
from replica.plugins.affinity_plan import AffinityPlan, KeyWatch, reach_of, saying, terms_of
from replica.plugins.namespaces import NamespaceLabels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.api.pods import Pod
    from replica.cache.arrays import Amounts, Flags
    from replica.cache.nodes import Nodes
    from replica.cache.tally import Tallies
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle
    from replica.framework.outlook import Outlook
    from replica.framework.status import Status
    from replica.plugins.arguments import InterPodAffinityArgs
    from replica.queue.hints import Registration

NAME: Final = "InterPodAffinity"
REASON_AFFINITY: Final = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY: Final = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING: Final = "node(s) didn't satisfy existing pods anti-affinity rules"

_ALL: Final = PreFilterResult()
_NOTHING_REQUIRED: Final = PreFilterResult(SKIP)
WANTED, SHUNNED, SHUNNING = "wanted", "shunned", "shunning"


@dataclass(slots=True)
class _Filtering:
    """What Filter needs.

    Attributes:
        more: (whose tallies, topology key) -> domain -> what would come there, or go, in a dry run.
    """

    plan: AffinityPlan
    more: dict[tuple[str, str], dict[int, int]] = field(default_factory=dict)

    def clone(self) -> _Filtering:
        return _Filtering(self.plan, {each: dict(more) for each, more in self.more.items()})

    def tallies(self, whose: str) -> Tallies:
        found: Tallies = getattr(self.plan, whose)
        return found

    def add(self, whose: str, other: Pod, row: int, sign: int) -> None:
        """Another pod would come to a row, or leave it."""
        tallies = self.tallies(whose)
        for key, weight in tallies.weigh(other).items():
            domains = tallies.of(key).domains
            if weight and domains.counted.item(row):
                more = self.more.setdefault((whose, key), {})
                number = domains.ids.item(row)
                more[number] = more.get(number, 0) + sign * weight

    def there(self, whose: str, nodes: Nodes) -> list[tuple[Amounts, Flags]]:
        """For each topology key: the nodes' domains, and where pods are: bool[size], false for nodes without one."""
        found = []
        for key, tally in self.tallies(whose).by_key.items():
            counts = self._changed(tally.counts, self.more.get((whose, key)))
            ids = nodes.cut(tally.domains.ids)
            found.append((ids, (counts > 0).take(ids)))
        return found

    def nobody(self) -> bool:
        """Is there no pod anywhere that the required affinity means?"""
        tallies = self.tallies(WANTED).by_key
        more = sum(sum(self.more.get((WANTED, key), {}).values()) for key in tallies)
        return not sum(tally.total for tally in tallies.values()) + more

    @staticmethod
    def _changed(counts: Amounts, more: dict[int, int] | None) -> Amounts:
        if more:
            counts = counts.copy()
            for number, amount in more.items():
                counts[number] += amount
        return counts


class InterPodAffinity:
    """PreFilter, Filter, PreScore and Score, by what the pod says of others and by what those placed say of it."""

    name = NAME

    def __init__(self, args: InterPodAffinityArgs, namespaces: NamespaceLabels) -> None:
        self._hard = args.hard_pod_affinity_weight
        self._ignore_theirs = args.ignore_preferred_terms_of_existing_pods
        self._labels_of = namespaces
        self._hints = AffinityHints(NAME, namespaces)

    def concerns(self, pod: Pod, nodes: Nodes) -> bool:
        """Does it say something, or is something said of it?"""
        if says_something(pod.spec):
            return True
        nodes.census.sync()
        if not nodes.census.any_terms():
            return False
        plan = self._plan(pod, nodes)
        return plan.shunning.anything or plan.liking.anything

    def outlook(self, pod: Pod, nodes: Nodes) -> Outlook | None:
        """All of it, where it can be told by domains and nothing is scored."""
        if not self.concerns(pod, nodes):
            return NOTHING_NOW if nodes.census.any_terms() else NOTHING
        plan = self._plan(pod, nodes)
        return None if self._scores(plan) else outlook_of(plan)

    # --- Filter

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> PreFilterResult:
        plan = self._plan(pod, nodes)
        if not plan.refuses:
            return _NOTHING_REQUIRED
        state.write(NAME, _Filtering(plan))
        return _ALL

    def add_pod(self, state: CycleState, _pod: Pod, added: Pod, nodes: Nodes) -> Status:
        return self._count(state, added, nodes, 1)

    def remove_pod(self, state: CycleState, _pod: Pod, removed: Pod, nodes: Nodes) -> Status:
        return self._count(state, removed, nodes, -1)

    def filter(self, state: CycleState, _pod: Pod, nodes: Nodes) -> Flags | None:
        found = state.find(NAME, _Filtering)
        if found is None:
            return None
        flags: Flags | None = _near(found, nodes)
        for whose in (SHUNNED, SHUNNING):
            kept = _away(found, whose, nodes)
            flags = kept if flags is None else flags if kept is None else flags & kept
        return flags

    def explain(self, state: CycleState, _pod: Pod, nodes: Nodes) -> Sequence[Refusal]:
        found = state.find(NAME, _Filtering)
        if found is None:
            return ()
        refusals, left = [], np.ones(nodes.size, np.bool_)
        for reason, code, kept in (
            (REASON_AFFINITY, Code.UNRESOLVABLE, _near(found, nodes)),
            (REASON_ANTI_AFFINITY, Code.UNSCHEDULABLE, _away(found, SHUNNED, nodes)),
            (REASON_EXISTING, Code.UNSCHEDULABLE, _away(found, SHUNNING, nodes)),
        ):
            if kept is not None:
                refusals.append(Refusal(reason, left & ~kept, code))
                left = left & kept
        return refusals

    # --- Score

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes, _feasible: Flags) -> Status:
        plan = self._plan(pod, nodes)
        if not self._scores(plan):
            return SKIP
        state.write(f"{NAME}/Score", plan)
        return SUCCESS

    def score(self, state: CycleState, _pod: Pod, nodes: Nodes) -> Amounts:
        """int64[size]: the weights of all who are wanted near, or want to be, less those who are not."""
        plan = state.read(f"{NAME}/Score", AffinityPlan)
        total = np.zeros(nodes.size, np.int64)
        for tallies in (plan.liked, plan.liking):
            for tally in tallies.by_key.values():
                total += tally.counts.take(nodes.cut(tally.domains.ids))
        return total

    def normalize(self, _state: CycleState, _pod: Pod, scores: Amounts, feasible: Flags) -> Amounts:
        """The lowest of a feasible node gets 0, the highest gets all."""
        among = scores if feasible.all() else scores[feasible]
        least, most = (int(among.min()), int(among.max())) if len(among) else (0, 0)
        if most == least:
            return np.zeros(len(scores), np.int64)
        return (HIGHEST_SCORE * ((scores - least) / (most - least))).astype(np.int64)

    def rank(self, state: CycleState, pod: Pod, nodes: Nodes, feasible: Flags) -> Amounts | None:
        """What the three steps come to."""
        if not self.pre_score(state, pod, nodes, feasible).ok:
            return None
        return self.normalize(state, pod, self.score(state, pod, nodes), feasible)

    # --- what may help

    def events_to_register(self) -> Sequence[Registration]:
        return self._hints.registrations()

    # --- parts

    def _scores(self, plan: AffinityPlan) -> bool:
        """Does it tell nodes apart by wishes?"""
        if self._ignore_theirs and not plan.terms.preferred:
            return False
        return plan.liked.anything or plan.liking.anything

    def _plan(self, pod: Pod, nodes: Nodes) -> AffinityPlan:
        census = nodes.census
        census.sync()
        own, says = self._labels_of(pod.namespace), says_something(pod.spec)
        reach = reach_of(terms_of(pod), census.namespaces(), self._labels_of) if says else ()
        keys = census.plan((self, "keys"), KeyWatch).keys
        if says:
            keys |= terms_of(pod).keys
        # Pods are alike if they say the same and have the same labels of those that anybody looks at.
        seen = frozenset((name, pod.labels[name]) for name in keys if name in pod.labels)
        key = (self, pod.namespace, keys, seen, saying(pod.spec) if says else None, own, reach)

        def make() -> AffinityPlan:
            # As they are now: what they become makes another plan.
            known = {**dict(reach), pod.namespace: own}
            return AffinityPlan(census, pod, lambda name: known.get(name) or self._labels_of(name), hard=self._hard)

        return census.plan(key, make)

    @staticmethod
    def _count(state: CycleState, other: Pod, nodes: Nodes, sign: int) -> Status:
        found = state.find(NAME, _Filtering)
        if found is not None and nodes.part is not None:
            (row,) = nodes.part
            for whose in (WANTED, SHUNNED, SHUNNING):
                found.add(whose, other, row, sign)
        return SUCCESS


def _near(found: _Filtering, nodes: Nodes) -> Flags | None:
    """Where all that is required near is there; None where nothing is required.

    The first of pods that want each other may go to any node with the labels.
    """
    if not found.plan.terms.affinity:
        return None
    first = found.plan.own and found.nobody()
    flags: Flags = np.ones(nodes.size, np.bool_)
    for ids, there in found.there(WANTED, nodes):
        flags &= (ids > 0) if first else there
    return flags


def _away(found: _Filtering, whose: str, nodes: Nodes) -> Flags | None:
    """Where nobody is who must not be near; None where that is so everywhere."""
    flags: Flags | None = None
    for _, there in found.there(whose, nodes):
        flags = ~there if flags is None else flags & ~there
    return flags


def make(args: InterPodAffinityArgs, handle: Handle) -> InterPodAffinity:
    return InterPodAffinity(args, NamespaceLabels(handle.listers.get("Namespace")))
