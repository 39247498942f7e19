"""Filter: which nodes can take a pod, and why the others can't."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from replica.framework.adapter import filter_one_by_one
from replica.framework.crowded import Crowded
from replica.framework.diagnosis import Diagnosis
from replica.framework.interface import FilterPlugin, NodeFilterPlugin, PreFilterExtensions, RowFilterPlugin
from replica.framework.reasons import Reasons
from replica.framework.status import PluginFailed, as_failure
from replica.framework.what_if import what_if

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Flags, Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import PreFilterPlugin, Refusal
    from replica.framework.metrics import FrameworkMetrics
    from replica.framework.promises import Promised


@dataclass(slots=True)
class Trace:
    """What the filters said of one pod, for the diagnosis."""

    allowed: Flags
    narrowed_by: tuple[str, ...] = ()
    verdicts: list[tuple[FilterPlugin, Flags]] = field(default_factory=list)
    refusals: list[tuple[str, Sequence[Refusal]]] = field(default_factory=list)
    crowded: Crowded | None = None
    """Rows that have room only until those come who were promised it, and why."""


class Filtering:
    """A profile's Filter plugins. A node is done with at its first refusal.

    Attributes:
        plugins: All of them, in their order.
        by_row: Those of them that can be asked about one row.
        extensions: The PreFilter plugins that keep count of other pods.
    """

    def __init__(
        self,
        pre_filters: Sequence[PreFilterPlugin],
        filters: Sequence[FilterPlugin | NodeFilterPlugin],
        metrics: FrameworkMetrics,
    ) -> None:
        self.plugins = tuple(filters)
        self.extensions = tuple(each for each in pre_filters if isinstance(each, PreFilterExtensions))
        self.by_row = tuple(each for each in filters if isinstance(each, RowFilterPlugin))
        self._filters = tuple(plugin for plugin in filters if isinstance(plugin, FilterPlugin))
        self._node_filters = tuple(
            plugin
            for plugin in filters
            if isinstance(plugin, NodeFilterPlugin) and not isinstance(plugin, FilterPlugin)
        )
        self._metrics = metrics

    def filter(self, state: CycleState, pod: Pod, nodes: Nodes, trace: Trace) -> Flags:
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

    def fits_own(self, state: CycleState, pod: Pod, nodes: Nodes, own: int, promised: Promised | None) -> Flags | None:
        """bool[size], true for the one row, if the pod can go to the node that it was promised."""
        part = nodes.take([own])
        if not self.filter(state, pod, part, Trace(part.valid)).item(0):
            return None
        others = () if promised is None else promised.on(own)
        if others and self._with(state, pod, nodes, own, others) is not None:
            return None
        feasible = np.zeros(nodes.size, np.bool_)
        feasible[own] = True
        return feasible

    def leave_promised(
        self,
        state: CycleState,
        pod: Pod,
        nodes: Nodes,
        feasible: Flags,
        *,
        promised: Promised,
        trace: Trace,
        known: Crowded | None = None,
    ) -> Flags:
        """The feasible rows less those that have no room if the pods come that were promised it.

        They may never come, so a row must do without them too: what they would only bring closer doesn't count.

        Args:
            known: What was found for pods that are alike; it is brought up to date.
        """
        if not promised:
            return feasible
        trace.crowded = Crowded(nodes.size) if known is None else known
        crowded = trace.crowded.among(
            feasible, nodes, promised, lambda row, more: self._with(state, pod, nodes, row, more)
        )
        return feasible & ~crowded

    def _with(self, state: CycleState, pod: Pod, nodes: Nodes, row: int, more: Sequence[Pod]) -> Diagnosis | None:
        """Why a pod doesn't fit one row with these pods on it too; None when it does."""
        dry, part = state.clone(), what_if(nodes, row, more=more)
        for plugin in self.extensions:
            if plugin.name in dry.skip_filter:
                continue
            for added in more:
                try:
                    status = plugin.add_pod(dry, pod, added, part)
                except Exception as error:
                    raise as_failure(error, plugin.name, "PreFilter") from error
                if not status.ok:
                    raise PluginFailed(plugin.name, "PreFilter", status.message or status.code.value)
        trace = Trace(part.valid)
        return None if self.filter(dry, pod, part, trace).item(0) else self.diagnose(dry, pod, part, trace)

    def diagnose(self, state: CycleState, pod: Pod, nodes: Nodes, trace: Trace) -> Diagnosis:
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
        for with_promised, rows in () if trace.crowded is None else trace.crowded.diagnoses():
            found.join(with_promised, rows)
        return Diagnosis(
            nodes.count,
            found.counts,
            frozenset(found.plugins),
            resolvable=found.resolvable if found.resolvable.any() else None,
        )
