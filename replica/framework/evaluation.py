"""From a pod to the node that it should have: PreFilter, Filter, PreScore, Score, NormalizeScore, and the choice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from replica.framework.adapter import filter_one_by_one
from replica.framework.by_row import ByRow
from replica.framework.diagnosis import Diagnosis
from replica.framework.interface import FilterPlugin, NodeFilterPlugin, WiderPlugin
from replica.framework.reasons import Reasons
from replica.framework.scoring import Scoring
from replica.framework.standing import Standing, Standings
from replica.framework.status import Code, PluginFailed, as_failure

if TYPE_CHECKING:
    import random
    from collections.abc import Hashable, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Flags, Nodes
    from replica.framework.adapter import Weighted
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import PreFilterPlugin, PreScorePlugin, Refusal
    from replica.framework.metrics import FrameworkMetrics


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


@dataclass(slots=True)
class _Trace:
    """What the filters said of one pod, for the diagnosis."""

    allowed: Flags
    narrowed_by: tuple[str, ...] = ()
    verdicts: list[tuple[FilterPlugin, Flags]] = field(default_factory=list)
    refusals: list[tuple[str, Sequence[Refusal]]] = field(default_factory=list)


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
        draw: random.Random,
        metrics: FrameworkMetrics,
    ) -> None:
        self._pre_filters = tuple(pre_filters)
        self._filters = tuple(plugin for plugin in filters if isinstance(plugin, FilterPlugin))
        self._node_filters = tuple(
            plugin
            for plugin in filters
            if isinstance(plugin, NodeFilterPlugin) and not isinstance(plugin, FilterPlugin)
        )
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
            signature: Pods of one signature share an evaluation; None: this one is evaluated by itself.

        Raises:
            PluginFailed: A plugin is broken.
        """
        if not nodes.count:
            return Diagnosis(0)
        known = self._standings.get(signature) if signature is not None else None
        if known is not None and self._renew(known, nodes):
            state.adopt(known.state)
            if known.diagnosis is not None:
                return known.diagnosis
            if (row := known.choose(self._draw)) is not None:
                return Placement(nodes.names[row], row, known.count, nodes.count, known.score(row))
        standing = self._evaluate(state, pod, nodes, shared=signature is not None)
        if signature is not None and self._scoring.lasts(state):
            self._standings.put(signature, standing)
        row = standing.choose(self._draw)
        if standing.diagnosis is not None or row is None:
            return standing.diagnosis or Diagnosis(nodes.count)
        return Placement(nodes.names[row], row, standing.count, nodes.count, standing.score(row))

    def _evaluate(self, state: CycleState, pod: Pod, nodes: Nodes, *, shared: bool) -> Standing:
        """A pass over all nodes. What is shared is scored even if there is one feasible node and no choice."""
        found = self._pre_filter(state, pod, nodes)
        across = self._across(pod, nodes) if shared else ()
        if isinstance(found, Diagnosis):
            return Standing(pod, state, nodes=nodes, across=across, diagnosis=found)
        names, narrowed_by = found
        trace = _Trace(nodes.valid if names is None else nodes.valid & nodes.named(names), narrowed_by)
        feasible = self._filter(state, pod, nodes, trace)
        count = int(np.count_nonzero(feasible))
        if not count:
            found = self._diagnose(state, pod, nodes, trace)
            return Standing(pod, state, nodes=nodes, across=across, diagnosis=found)
        scores = None
        if count > 1 or shared:
            self._pre_score(state, pod, nodes, feasible)
            scores = self._scoring.score(state, pod, nodes, feasible)
        return Standing(pod, state, nodes=nodes, across=across, names=names, feasible=feasible, scores=scores)

    def _renew(self, known: Standing, nodes: Nodes) -> bool:
        """Ask again about the rows that changed since; False when a pass over all nodes is the better way."""
        changed = nodes.changes.since(known.serial)
        if changed is None or len(changed) > max(1, nodes.size // 8):
            return False
        if changed:
            if known.diagnosis is not None or known.across != self._across(known.pod, nodes):
                return False
            rows = sorted(changed)
            if self._by_row is not None and len(rows) <= MOST_BY_ROW:
                self._by_row.update(known, nodes, rows)
                known.serial = nodes.changes.serial
                return True
            part = nodes.take(rows)
            trace = _Trace(part.valid if known.names is None else part.valid & part.named(known.names))
            feasible = self._filter(known.state, known.pod, part, trace)
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
            except Exception as error:
                raise as_failure(error, plugin.name, "PreFilter") from error
            status = result.status
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

    def _filter(self, state: CycleState, pod: Pod, nodes: Nodes, trace: _Trace) -> Flags:
        passed = trace.allowed
        began = self._metrics.begin(state)
        for plugin in self._filters:
            if plugin.name in state.skip_filter:
                continue
            start = self._metrics.begin(state)
            try:
                verdict = plugin.filter(state, pod, nodes)
                if verdict is not None:
                    trace.verdicts.append((plugin, verdict))
                    passed = passed & verdict
            except Exception as error:
                raise as_failure(error, plugin.name, "Filter") from error
            self._metrics.plugin(plugin.name, "Filter", "Success", start)
        for one in self._node_filters:
            if one.name in state.skip_filter or not passed.any():
                continue
            start = self._metrics.begin(state)
            try:
                passed, refusals = filter_one_by_one(one, state, pod, nodes, passed)
            except Exception as error:
                raise as_failure(error, one.name, "Filter") from error
            trace.refusals.append((one.name, refusals))
            self._metrics.plugin(one.name, "Filter", "Success", start)
        self._metrics.point("Filter", "Success", began)
        return passed

    def _pre_score(self, state: CycleState, pod: Pod, nodes: Nodes, feasible: Flags) -> None:
        began = self._metrics.begin(state)
        for plugin in self._pre_scores:
            start = self._metrics.begin(state)
            try:
                status = plugin.pre_score(state, pod, nodes, feasible)
            except Exception as error:
                raise as_failure(error, plugin.name, "PreScore") from error
            self._metrics.plugin(plugin.name, "PreScore", status.code.value, start)
            if status.code is Code.SKIP:
                state.skip_score.add(plugin.name)
            elif not status.ok:
                raise PluginFailed(plugin.name, "PreScore", status.message or status.code.value)
        self._metrics.point("PreScore", "Success", began)

    def _diagnose(self, state: CycleState, pod: Pod, nodes: Nodes, trace: _Trace) -> Diagnosis:
        """Count the reasons: of each node those of the first plugin that refused it."""
        found = Reasons(trace.allowed.copy())
        if trace.narrowed_by and (left_out := int(np.count_nonzero(nodes.valid & ~trace.allowed))):
            found.counts[f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(trace.narrowed_by))}]"] = left_out
            found.plugins.update(trace.narrowed_by)
        remaining = trace.allowed
        for plugin, verdict in trace.verdicts:
            refused = remaining & ~verdict
            if refused.any():
                try:
                    found.add(plugin.name, plugin.explain(state, pod, nodes), refused)
                except Exception as error:
                    raise as_failure(error, plugin.name, "Filter") from error
            remaining = remaining & verdict
        for name, refusals in trace.refusals:
            found.add(name, refusals, remaining)
        return Diagnosis(
            nodes.count,
            found.counts,
            frozenset(found.plugins),
            resolvable=found.resolvable if found.resolvable.any() else None,
        )
