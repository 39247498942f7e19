"""From a pod to the node that it should have: PreFilter, Filter, PreScore, Score, NormalizeScore, and the choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from replica.framework.by_row import ByRow
from replica.framework.diagnosis import Diagnosis
from replica.framework.filtering import Filtering, Trace
from replica.framework.interface import WiderPlugin
from replica.framework.scoring import Scoring
from replica.framework.standing import Standing, Standings
from replica.framework.status import Code, PluginFailed, as_failure, as_status

if TYPE_CHECKING:
    import random
    from collections.abc import Hashable, Mapping, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Flags, Nodes
    from replica.framework.adapter import Weighted
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import FilterPlugin, NodeFilterPlugin, PreFilterPlugin, PreScorePlugin
    from replica.framework.metrics import FrameworkMetrics
    from replica.framework.promises import Promises
    from replica.framework.sampling import Sampling


MOST_BY_ROW = 8
"""Changed rows that are asked about one by one; more of them are cheaper as a column."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a pod should go.

    Attributes:
        row: The node's row in the view.
        feasible: How many nodes could have taken it.
        evaluated: How many nodes there were.
        score: The chosen node's, weights counted in; 0 when there was no choice.
    """

    node_name: str
    row: int
    feasible: int
    evaluated: int
    score: int = 0


class Evaluator:
    """Runs a profile's plugins over all nodes. Filter stops for a node at its first refusal.

    A plugin that raises, or answers with a column of another shape or out of range, ends the evaluation with
    `PluginFailed`.
    """

    def __init__(
        self,
        *,
        pre_filters: Sequence[PreFilterPlugin],
        filters: Sequence[FilterPlugin | NodeFilterPlugin],
        pre_scores: Sequence[PreScorePlugin],
        scores: Sequence[Weighted],
        sampling: Sampling,
        promises: Promises,
        draw: random.Random,
        metrics: FrameworkMetrics,
    ) -> None:
        self._sampling = sampling
        self._promises = promises
        self._pre_filters = tuple(pre_filters)
        self._filtering = Filtering(pre_filters, filters, metrics)
        self._pre_scores = tuple(pre_scores)
        self._scoring = Scoring(scores, metrics)
        asked = (*pre_filters, *filters, *(each.plugin for each in scores))
        self._wider = tuple({each.name: each for each in asked if isinstance(each, WiderPlugin)}.values())
        self._standings = Standings()
        self._by_row = ByRow.of(filters, scores)
        self._draw = draw
        self._metrics = metrics

    def place(
        self, state: CycleState, pod: Pod, nodes: Nodes, signature: Hashable | None = None
    ) -> Placement | Diagnosis:
        """The best node for a pod, or why there is none.

        Args:
            signature: Pods of one signature share an evaluation as far as `across` agrees; None: this one doesn't.

        Raises:
            PluginFailed: A plugin is broken.
        """
        if not nodes.count:
            return Diagnosis(0)
        promised, own = self._promises.heeded(pod, nodes), self._promises.own(pod, nodes)
        if promised or own is not None or self._sampling.applies(nodes.count):
            signature = None  # what is found depends on more than the nodes
        key = None if signature is None else (signature, self._across(pod, nodes))
        try:
            known = self._standings.get(key) if key is not None else None
        except TypeError:  # what has no hash can't be told from others
            known = key = None
        if known is not None and self._renew(known, pod, nodes):
            state.adopt(known.state)
            if known.diagnosis is not None:
                return known.diagnosis
            if (row := known.choose(self._draw)) is not None:
                return Placement(nodes.names[row], row, known.count, nodes.count, known.score(row))
        standing = self._evaluate(state, pod, nodes, promised=promised, own=own, shared=key is not None)
        if key is not None and self._scoring.lasts(state):
            self._standings.put(key, standing)
        row = standing.choose(self._draw)
        if standing.diagnosis is not None or row is None:
            return standing.diagnosis or Diagnosis(nodes.count)
        return Placement(nodes.names[row], row, standing.count, nodes.count, standing.score(row))

    def _evaluate(
        self,
        state: CycleState,
        pod: Pod,
        nodes: Nodes,
        *,
        promised: Mapping[int, Sequence[Pod]],
        own: int | None,
        shared: bool,
    ) -> Standing:
        """A pass over all nodes. What is shared is scored even if there is one feasible node and no choice.

        Args:
            promised: Row -> the pods whose promised room this one must leave alone.
            own: The row that was promised to the pod itself: if it can go there, it does.
        """
        found = self._pre_filter(state, pod, nodes)
        if isinstance(found, Diagnosis):
            return Standing(pod, state, nodes=nodes, diagnosis=found)
        names, narrowed_by = found
        trace = Trace(nodes.valid if names is None else nodes.valid & nodes.named(names), narrowed_by)
        if own is not None and trace.allowed[own]:
            feasible = self._filtering.fits_own(state, pod, nodes, own, promised)
            if feasible is not None:
                return Standing(pod, state, nodes=nodes, names=names, feasible=feasible)
        feasible = self._filtering.filter(state, pod, nodes, trace)
        feasible = self._filtering.leave_promised(state, pod, nodes, feasible, promised=promised, trace=trace)
        feasible = self._sampling.cut(feasible, nodes.count)
        count = int(np.count_nonzero(feasible))
        if not count:
            found = self._filtering.diagnose(state, pod, nodes, trace)
            return Standing(pod, state, nodes=nodes, diagnosis=found)
        scores = None
        if count > 1 or shared:
            self._pre_score(state, pod, nodes, feasible)
            scores = self._scoring.score(state, pod, nodes, feasible)
        return Standing(pod, state, nodes=nodes, names=names, feasible=feasible, scores=scores)

    def _renew(self, known: Standing, pod: Pod, nodes: Nodes) -> bool:
        """Ask again about the rows that changed since; False when a pass over all nodes is the better way."""
        changed = nodes.changes.since(known.serial)
        if changed is None or len(changed) > max(1, nodes.size // 8):
            return False
        if changed:
            if known.diagnosis is not None:
                return False
            # Who came first may have another `across` by now: with this pod, what changed is as its kind has it.
            known.pod = pod
            rows = sorted(changed)
            if self._by_row is not None and len(rows) <= MOST_BY_ROW:
                self._by_row.update(known, nodes, rows)
                known.serial = nodes.changes.serial
                return True
            part = nodes.take(rows)
            trace = Trace(part.valid if known.names is None else part.valid & part.named(known.names))
            feasible = self._filtering.filter(known.state, known.pod, part, trace)
            known.update(rows, feasible, self._scoring.score(known.state, known.pod, part, feasible))
        known.serial = nodes.changes.serial
        return True

    def _across(self, pod: Pod, nodes: Nodes) -> tuple[Hashable, ...]:
        """What plugins look at beyond the node that they judge.

        Raises:
            PluginFailed: A plugin is broken.
        """
        found = []
        for plugin in self._wider:
            try:
                found.append(plugin.across(pod, nodes))
            except Exception as error:
                raise as_failure(error, plugin.name, "Filter") from error
        return tuple(found)

    # --- steps -------------------------------------------------------------------------------------------------------

    def _pre_filter(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> tuple[frozenset[str] | None, tuple[str, ...]] | Diagnosis:
        """The nodes that all PreFilters leave (None: all) and who narrowed them down, or why the pod is refused."""
        names: frozenset[str] | None = None
        narrowed: list[str] = []
        began = self._metrics.begin(state)
        for plugin in self._pre_filters:
            start = self._metrics.begin(state)
            try:
                result = plugin.pre_filter(state, pod, nodes)
                status = result.status
            except Exception as error:
                raise as_failure(error, plugin.name, "PreFilter") from error
            self._metrics.plugin(plugin.name, "PreFilter", status.code.value, start)
            if status.rejected:
                self._metrics.point("PreFilter", status.code.value, began)
                return Diagnosis(
                    nodes.count,
                    plugins=frozenset({plugin.name}),
                    resolvable=nodes.valid if status.code is Code.UNSCHEDULABLE else None,
                    pre_filter=status.message,
                )
            if status.code is Code.SKIP:
                state.skip_filter.add(plugin.name)
            elif not status.ok:
                raise PluginFailed(plugin.name, "PreFilter", status.message or status.code.value)
            if result.node_names is not None:
                narrowed.append(plugin.name)
                names = result.node_names if names is None else names & result.node_names
        self._metrics.point("PreFilter", "Success", began)
        return names, tuple(narrowed)

    def _pre_score(self, state: CycleState, pod: Pod, nodes: Nodes, feasible: Flags) -> None:
        began = self._metrics.begin(state)
        for plugin in self._pre_scores:
            start = self._metrics.begin(state)
            try:
                status = as_status(plugin.pre_score(state, pod, nodes, feasible))
            except Exception as error:
                raise as_failure(error, plugin.name, "PreScore") from error
            self._metrics.plugin(plugin.name, "PreScore", status.code.value, start)
            if status.code is Code.SKIP:
                state.skip_score.add(plugin.name)
            elif not status.ok:
                raise PluginFailed(plugin.name, "PreScore", status.message or status.code.value)
        self._metrics.point("PreScore", "Success", began)
