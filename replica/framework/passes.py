"""One pass over the nodes: PreFilter, Filter, PreScore and Score of some of a profile's plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.framework.diagnosis import Diagnosis
from replica.framework.filtering import Filtering
from replica.framework.scoring import Scoring
from replica.framework.status import Code, PluginFailed, as_failure, as_status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Flags, Nodes
    from replica.framework.adapter import Weighted
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import FilterPlugin, NodeFilterPlugin, PreFilterPlugin, PreScorePlugin
    from replica.framework.metrics import FrameworkMetrics
    from replica.framework.scoring import Scores


class Pass:
    """Some plugins at these points, in order. What a plugin must not answer ends the pass with `PluginFailed`.

    Attributes:
        filtering: Filter.
        scoring: Score and NormalizeScore.
    """

    def __init__(
        self,
        *,
        pre_filters: Sequence[PreFilterPlugin],
        filters: Sequence[FilterPlugin | NodeFilterPlugin],
        pre_scores: Sequence[PreScorePlugin],
        scores: Sequence[Weighted],
        metrics: FrameworkMetrics,
    ) -> None:
        self._pre_filters = tuple(pre_filters)
        self.filtering = Filtering(pre_filters, filters, metrics)
        self._pre_scores = tuple(pre_scores)
        self.scoring = Scoring(scores, metrics)
        self._metrics = metrics

    def pre_filter(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> tuple[frozenset[str] | None, tuple[str, ...]] | Diagnosis:
        """The nodes that all PreFilters leave (None: all) and who narrowed them down, or why the pod is refused.

        Raises:
            PluginFailed: A plugin is broken.
        """
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

    def score(self, state: CycleState, pod: Pod, nodes: Nodes, feasible: Flags) -> Scores:
        """PreScore, Score and NormalizeScore. Rows that aren't feasible don't matter.

        Raises:
            PluginFailed: A plugin is broken.
        """
        self._pre_score(state, pod, nodes, feasible)
        return self.scoring.score(state, pod, nodes, feasible)

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
